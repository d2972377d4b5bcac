"""Questions and passages: two layouts, sets that must not mix, and every mistake with its place."""

from __future__ import annotations

import gzip

import pytest

from convqa.domain import TurnId
from convqa.errors import InputError
from convqa.tasks import find_task
from convqa.tasks.poleval.task import PolEval


def asked(path):
    return [talk.turns[0] for talk in PolEval().read(path)]


def test_lines_of_one_set(one_set, poleval):
    turns = asked(one_set)
    assert [turn.id for turn in turns] == [TurnId(1, 1), TurnId(2, 1), TurnId(3, 1)]
    assert [turn.question for turn in turns] == poleval.ASKED
    assert {turn.language for turn in turns} == {"pl"} and not any(turn.filter for turn in turns)
    assert asked(one_set / "in.tsv") == turns
    passages = list(PolEval().passages(one_set))
    assert [passage.to_json() for passage in passages] == poleval.RIVERS
    assert list(PolEval().passages(one_set / "in.tsv")) == passages


def test_lines_of_two_sets_are_asked_of_their_own(two_sets):
    turns = asked(two_sets)
    assert [turn.id.conversation for turn in turns][2:] == ["wiki-trivia/3", "legal-questions/4"]
    assert [turn.filter["set"] for turn in turns] == [("wiki-trivia",)] * 3 + [("legal-questions",)]
    found = {passage.id: passage for passage in PolEval().passages(two_sets)}
    assert list(found)[2:] == ["wiki-trivia/3-0", "legal-questions/1-0", "legal-questions/2-0"]
    assert found["wiki-trivia/3-0"].meta == {"article_id": 3, "set": "wiki-trivia"}


def test_questions_by_id(competition):
    assert [turn.id for turn in asked(competition)] == [TurnId("0", 1), TurnId("5", 1), TurnId("10", 1)]
    assert len(list(PolEval().passages(competition))) == 3
    assert asked(competition / "questions.jl") == asked(competition)


def test_it_is_found_by_itself(one_set, competition):
    for path in (one_set, one_set / "in.tsv", competition, competition / "questions.jl"):
        assert find_task("auto", path).name == "poleval"
        assert PolEval().has_truth(path)
    (competition / "questions.jl").rename(competition / "questions-test.jl")
    assert len(asked(competition)) == 3
    (competition / "pairs.tsv").rename(competition / "pairs-test.tsv")
    assert len(PolEval().gold(competition / "questions-test.jl").turns) == 2
    (competition / "questions-train.jl").touch()
    with pytest.raises(InputError, match=r"rivers: expected one file .*, got questions-test\.jl, questions-train\.jl"):
        asked(competition)


def test_a_header_and_other_line_ends(one_set):
    data = (one_set / "in.tsv").read_bytes()
    (one_set / "in.tsv").write_bytes(b"\xef\xbb\xbfset\ttext\r\n" + data.replace(b"\n", b"\r\n"))
    assert [(turn.id.conversation, turn.question[-1]) for turn in asked(one_set)] == [(1, "?"), (2, "?"), (3, "?")]


def test_where_passages_may_lie(one_set, two_sets, competition, poleval):
    above = one_set.parent
    (above / "wiki-trivia" / "passages.jl").rename(above / "passages.jl")
    assert len(list(PolEval().passages(one_set))) == 3
    with pytest.raises(InputError, match=r"passages for legal-questions, but not for wiki-trivia"):
        PolEval().passages(two_sets)
    (one_set / "passages.jl.gz").write_bytes(gzip.compress((above / "passages.jl").read_bytes().partition(b"\n")[2]))
    assert len(list(PolEval().passages(one_set))) == 2
    (competition / "passages.jl").unlink()
    assert PolEval().passages(competition) is None


def test_a_mark_of_byte_order_is_no_part_of_the_first_record(competition):
    before = asked(competition), list(PolEval().passages(competition))
    for name in ("questions.jl", "passages.jl"):
        (competition / name).write_bytes(b"\xef\xbb\xbf" + (competition / name).read_bytes())
    assert (asked(competition), list(PolEval().passages(competition))) == before


ROWS = [
    (["wiki\tTak?", "Kto?"], r"line 2: expected in\.tsv .*, got 'Kto\?'"),
    (["wiki\tKto?", "", "wiki\tCo?"], r"line 2: expected"),
    (["wiki\t "], r"line 1: expected"),
    (["set\ttext"], r"has no questions"),
    ([], r"has no questions"),
]


@pytest.mark.parametrize(("rows", "message"), ROWS)
def test_a_malformed_in_tsv_is_refused_with_its_place(tmp_path, poleval, rows, message):
    path = poleval.write(tmp_path / "in.tsv", *rows)
    with pytest.raises(InputError, match=rf"in\.tsv: {message}"):
        asked(path)


RECORDS = [
    (["{"], r"line 1, column 2: invalid JSON"),
    ([[1]], r"(line 1|record 0): the record: expected an object, got (\[1\]|1)"),
    ([{"id": "1"}], r"line 1.*: text: is missing"),
    ([{"id": " ", "text": "Kto?"}], r"line 1.*: id: is empty"),
    ([], r".*(is empty|has no records)"),
]
QUESTIONS = [([{"id": "1", "text": " "}], r"line 1 \(question '1'\): text: is empty")]
PASSAGES = [
    ([{"id": "1", "text": "a", "title": 3}], r"line 1: title: expected a string, got 3"),
    ([{"id": "1", "text": "a", "meta": [1]}], r"line 1: meta: expected an object, got \[1\]"),
    (
        [{"id": "1", "text": "a", "meta": {"x": {"y": 1}}}],
        r"line 1: meta\.x: expected a string .*got \{'y': 1\}",
    ),
]


@pytest.mark.parametrize(("rows", "message"), [*RECORDS, *QUESTIONS])
def test_malformed_questions_are_refused_with_their_place(tmp_path, poleval, rows, message):
    path = poleval.write(tmp_path / "questions.jl", *rows)
    with pytest.raises(InputError, match=rf"questions\.jl: {message}"):
        asked(path)


@pytest.mark.parametrize(("rows", "message"), [*RECORDS, *PASSAGES])
def test_malformed_passages_are_refused_with_their_place(competition, poleval, rows, message):
    poleval.write(competition / "passages.jl", *rows)
    with pytest.raises(InputError, match=rf"passages\.jl: {message}"):
        list(PolEval().passages(competition))


def test_what_is_not_utf8(tmp_path):
    (tmp_path / "in.tsv").write_bytes(b"wiki\tKto?\nwiki\tGda\xf1sk?\n")
    with pytest.raises(InputError, match=r"in\.tsv: line 2: byte 9 is not UTF-8"):
        asked(tmp_path)


def test_nulls_say_nothing_and_other_fields_are_left_alone(competition, poleval):
    record = {"id": 1, "text": "", "title": None, "meta": {"a": None, "b": False}, "url": 3}
    poleval.write(competition / "passages.jl", record)
    [passage] = PolEval().passages(competition)
    assert passage.to_json() == {"id": "1", "text": "", "meta": {"b": False}}


def test_the_real_questions(data):
    folder = data / "poleval2022"
    assert {name: len(asked(folder / name)) for name in ("dev-0", "train")} == {"dev-0": 599, "train": 4401}
    for name, sizes in {"test-A": (400, 400, 400), "test-B": (891, 318, 500)}.items():
        turns = asked(folder / name)
        sets = ("wiki-trivia", "legal-questions", "allegro-faq")
        assert tuple(sum(turn.filter["set"] == (one,) for turn in turns) for one in sets) == sizes
        assert all(turn.question == turn.question.strip() for turn in turns)
