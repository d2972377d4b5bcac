"""Reading: every form of the card, what is refused and what is told, each with its place."""

from __future__ import annotations

import json
import logging

import pytest

from convqa.domain import Turn, TurnId
from convqa.errors import InputError
from convqa.tasks import find_task
from convqa.tasks.jwhr.input import read_entries
from convqa.tasks.jwhr.task import JWHR
from convqa.tasks.mrqa.task import MRQA
from convqa.tasks.qrecc.task import QReCC


@pytest.fixture
def told(caplog):
    """The warnings so far."""
    caplog.set_level(logging.WARNING, "convqa")
    return lambda: [record.getMessage() for record in caplog.records]


def test_the_cards_example(card, told):
    (talk,) = JWHR().read(card)
    assert talk.id == 1
    assert talk.turns == (Turn(TurnId(1, 1), "経済産業省の役割について知りたい。", language="ja"),)
    (turn,) = JWHR().gold(card).turns
    assert turn.answer.text.startswith("経済産業省は、日本の行政機関のひとつです。経済および産業の")
    assert turn.answer.pages == {"ja.wikipedia.org/wiki/経済産業省"}
    assert [quote[:12] for quote in turn.answer.quotes] == ["経済産業省(けいざいさん", "経済産業省設置法第3条の"]
    assert [passage.text for passage in JWHR().passages(card)] == list(turn.answer.quotes)
    assert told() == []


def test_a_folder_is_both_chunks(made_up, told):
    assert [talk.id for talk in JWHR().read(made_up)] == [1, 2, 3, 101, 102]
    turns = JWHR().gold(made_up).turns
    assert [turn.fields["chunk"] for turn in turns] == ["answered"] * 3 + ["not_answered"] * 2
    assert [turn.fields["file"] for turn in turns] == ["answered.jsonl"] * 3 + ["not_answered.jsonl"] * 2
    assert [turn.answer is None for turn in turns] == [False] * 3 + [True] * 2
    assert turns[1].answer.pages == {"ja.wikipedia.org/wiki/架空川", "ja.wikipedia.org/wiki/灯籠祭り_(架空県)"}
    assert told() == []


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", ["answered.jsonl", "answered.jsonl.gz", "answered.json", "any"])
def test_lines_and_arrays_plain_and_packed(write, entry, name, packed):
    other = {**entry, "id": 8}
    for entries in (
        (entry, other),
        ("\ufeff" + json.dumps([entry, other], indent=2),),
        (json.dumps(entry) + "\r\n\n", other),
    ):
        path = write(*entries, name=name, packed=packed)
        assert [entry.id for _, entry in read_entries(path)] == [7, 8]
        assert find_task("auto", path).name == "jwhr"


def test_which_files_are_the_tasks(write, entry, made_up, golden, tmp_path):
    assert JWHR().has_input(made_up) and JWHR().has_truth(made_up) and JWHR().has_run(golden)
    assert find_task("auto", made_up).name == "jwhr"
    assert not MRQA().has_input(made_up) and not QReCC().has_input(made_up)
    write(entry, name="in/run.jsonl"), write({"id": "p", "text": "x"}, name="in/passages.jsonl")
    assert not JWHR().has_input(tmp_path / "in")
    with pytest.raises(InputError, match=r"in: has no file \.jsonl, \.jsonl\.gz, \.json, \.json\.gz; expected files"):
        list(JWHR().read(tmp_path / "in"))
    write(entry, name="in/answered.jsonl")
    assert [talk.id for talk in JWHR().read(tmp_path / "in")] == [7]
    mrqa = write({"context": "c", "qas": []}, name="mrqa.jsonl")
    for other in (mrqa, write("nothing", name="x.json"), write("[]", name="y.json"), tmp_path / "absent"):
        assert not JWHR().has_input(other)


def changed(entry, path, value):
    """The entry with another value at ``answer.sentences.0.text``; ``...`` takes the field away."""
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    inner = entry
    for step in way:
        inner = inner[step]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return entry


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("id", ..., "line 1: id: is missing"),
        ("id", "7", "line 1 (entry '7'): id: expected a whole number, got '7'"),
        ("id", 7.0, "id: expected a whole number, got 7.0"),
        ("id", True, "id: expected a whole number, got True"),
        ("id", 2**63, "id: expected less than 9223372036854775808, got 9223372036854775808"),
        ("question", ..., "line 1 (entry 7): question: is missing"),
        ("references", ..., "references: is missing"),
        ("references.0.search.keywords", "東京", "references[0].search.keywords: expected a list, got '東京'"),
        ("references.0.page.summary", {"text": "x"}, "references[0].page.summary.method: is missing"),
        ("answer.sentences.0.citations", [0.0], "answer.sentences[0].citations[0]: expected a whole number, got 0.0"),
        # The right shape, and still nothing that can be scored:
        ("answer.sentences.0.citations", [0, 2], "answer.sentences[0].citations[1]: expected the index of one"
         " of 2 references"),
        ("answer.sentences.0.citations", [-1], "answer.sentences[0].citations[0]: expected the index"),
        ("answer.text", " \n", "answer.text: expected a text, or no answer at all, got ' \\n'"),
        ("references.0.not_found", {"url": "x"}, "references[0]: has both page and not_found; expected one of them"),
        ("references.0.page", {"title": " ", "url": ""}, "references[0].page: has neither title nor url; expected"),
    ],
)  # fmt: skip
def test_what_breaks_scoring_is_refused(write, entry, path, value, message):
    file = write(changed(entry, path, value))
    for read in (lambda: list(JWHR().read(file)), lambda: JWHR().gold(file), lambda: list(JWHR().passages(file))):
        with pytest.raises(InputError) as error:
            read()
        assert str(error.value).startswith(f"{file}: line 1") and message in str(error.value)
        assert "Expected: {id, question, answer:" in str(error.value)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("answer.text", "首都です"),
        ("answer.sentences", []),
        ("answer.sentences.0.citations", [1]),
        ("references.0.link", {"referrer": -1}),
        ("references.0.search", ...),
        ("references.1.not_found", ...),
        ("references.0.page.summary", {"text": "x", "method": "y"}),
        ("references.0.page.quote.text", " "),
        ("references.1.link.referrer", 9),
        ("references.0.page.quote.note", 1),
    ],
)
def test_what_changes_no_score_is_read(write, entry, told, path, value):
    (turn,) = JWHR().gold(write(changed(entry, path, value))).turns
    assert turn.answer is not None and told() == []


def test_ids_are_one_answer_each(write, entry, tmp_path):
    with pytest.raises(InputError, match=r"line 2 \(entry 7\): id: is also that of line 1"):
        list(JWHR().read(write(entry, entry)))
    write(entry, name="in/a.jsonl"), write(entry, name="in/b.jsonl")
    with pytest.raises(InputError, match=r"b\.jsonl: line 1 \(entry 7\): id: is also in a\.jsonl.*one by one"):
        list(JWHR().read(tmp_path / "in"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has no records"),
        (b"[]", "has no records"),
        (b'\n{"id": }', "line 2, column 8: invalid JSON"),
        (b'[{"id": 1},\n {"id": }]', "line 2, column 9: invalid JSON"),
        (b'{"id": "\xff"}', "line 1: byte 9 is not UTF-8"),
        (b"[3]", "record 0: the record: expected an object, got 3"),
    ],
)
def test_files_that_are_something_else(tmp_path, content, message):
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        list(JWHR().read(path))
    assert str(error.value).startswith(f"{path}: ") and message in str(error.value)
