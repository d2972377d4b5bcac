"""predictions.json: written as the official scripts read it, read back, and every format error told."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from convqa.domain import Answer, Failure, Hit, Ranking, Response, Rewrite, TurnId
from convqa.errors import InputError
from convqa.sharc.task import ShARC

TASK = ShARC()
GOLDEN = Path(__file__).parent / "data" / "predictions.json"


def responses(talks):
    """Right, right, another question, nothing, failed ...: one after another."""
    said = [
        Answer("answer", "Yes", label="Yes"),
        Answer("answer", "No", label="No"),
        Answer("question", "Are you an asylee?"),
    ]
    ranking = Ranking.of([Hit("649", 2.0), Hit("356", 1.0)])
    for place, talk in enumerate(talks):
        id = TurnId(talk.id, 1)
        if place < len(said):
            yield Response(id, Rewrite("q", ()), ranking, answer=said[place])
        else:
            yield Response(id, error=Failure("builder", "ValueError", "no"))


def test_the_file_is_as_it_always_was(opened, tmp_path):
    path = TASK.write(responses(TASK.read(opened)), tmp_path, frozenset({"rankings", "answers"}))
    assert path.read_bytes() == GOLDEN.read_bytes()
    run = TASK.read_run(tmp_path)
    assert list(run.answers.values()) == ["Yes", "No", "Are you an asylee?", ""]
    assert list(run.passages.values()) == [["649", "356"]] * 3 + [[]]
    assert TASK.check(opened, tmp_path) == []


def test_rankings_are_cut_and_left_out_where_there_are_none(tmp_path):
    ranking = Ranking.of([Hit(str(n), float(-n)) for n in range(30)])
    response = Response(TurnId("u", 1), None, ranking, answer=Answer("none", "", reason="nothing"))
    assert (
        TASK.write([response], tmp_path, frozenset({"answers"})).read_text()
        == '[\n{"utterance_id":"u","answer":""}\n]\n'
    )
    TASK.write([response], tmp_path, frozenset({"answers", "rankings"}))
    assert TASK.read_run(tmp_path).passages["u"] == [str(n) for n in range(20)]
    assert TASK.write([], tmp_path, frozenset()).read_text() == "[]\n"


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ("Yes", r"predictions\.json: expected a JSON array of \{utterance_id, answer\}, got 'Yes'"),
        (["Yes"], "record 0: expected .*, got 'Yes'"),
        ([{"answer": "Yes"}], "record 0: utterance_id: is missing"),
        ([{"utterance_id": "u", "answer": None}], "record 0: answer: expected a string, got None"),
        (
            [{"utterance_id": "u", "answer": "x\ud800"}],
            "record 0: answer: expected text without lone surrogates, got",
        ),
        (
            [{"utterance_id": "u\udfff", "answer": "x"}],
            "record 0: utterance_id: expected text without lone surrogates, got",
        ),
        ([{"utterance_id": "u", "answer": ""}] * 2, "record 1: utterance_id: 'u' is also that of record 0"),
        (
            [{"utterance_id": "u", "answer": "", "passages": [3]}],
            r"record 0: passages\[0\]: expected a string, got 3",
        ),
    ],
)
def test_what_cannot_be_scored_is_refused(predict, records, message):
    with pytest.raises(InputError, match=message):
        TASK.read_run(predict(records))


def test_all_format_errors_at_once(opened, predict, tmp_path):
    known = [talk.id for talk in TASK.read(opened)]
    records = [{"utterance_id": id, "answer": "Yes"} for id in [known[0], known[0], "foreign"]]
    folder = predict([*records, {"utterance_id": 3, "answer": 4}])
    problems = TASK.check(opened, folder)
    assert [problem.removeprefix(f"{folder / 'predictions.json'}: ") for problem in problems] == [
        f"record 1: utterance_id: {known[0]!r} is also that of record 0",
        "record 3: utterance_id: expected a string, got 3",
        "record 3: answer: expected a string, got 4",
        f"3 of 4 utterances of the input are missing: {', '.join(known[1:])}",
        "2 of 3 utterances are not in the input: foreign, 3",
    ]
    (absent,) = TASK.check(opened, tmp_path / "absent.json")
    assert "no such file" in absent


def test_a_run_is_told_from_mrqas_by_its_content(predict, written_by_mrqa):
    assert TASK.has_run(predict([])) and not TASK.has_run(written_by_mrqa)


@pytest.fixture
def written_by_mrqa(tmp_path):
    (tmp_path / "mrqa").mkdir()
    (tmp_path / "mrqa" / "predictions.json").write_text('{"q": "a"}')
    return tmp_path / "mrqa"


@pytest.mark.parametrize("which", ["predictions.json", "truth"])
def test_a_byte_order_mark_is_refused_as_officially(opened, predict, tmp_path, which):
    run = predict([{"utterance_id": "u", "answer": "Yes"}]) / "predictions.json"
    folder = tmp_path / "copy"
    shutil.copytree(opened, folder)
    (truth,) = (path for path in folder.iterdir() if path.name != "id2snippet.json")
    for path in (run, truth):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    with pytest.raises(InputError, match="begins with a byte order mark"):
        TASK.gold(folder) if which == "truth" else TASK.read_run(run)
    assert list(TASK.read(folder))
    (problem,) = TASK.check(folder, run)
    assert problem.startswith(f"{run}: begins with a byte order mark ")
