from __future__ import annotations

import json
from pathlib import Path

import pytest

from convqa.domain import Exchange, TurnId
from convqa.errors import InputError
from convqa.tasks.qrecc.task import QReCC

DATA = Path(__file__).resolve().parents[3] / ".." / "shared" / "data"


def question(conversation, turn, text="what?", **fields):
    return {"Conversation_no": conversation, "Turn_no": turn, "Question": text, **fields}


@pytest.fixture
def folder(tmp_path):
    def written(content):
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        (tmp_path / "questions.json").write_bytes(data)
        return tmp_path

    return written


def read(path):
    return list(QReCC().read(path))


def ids(conversations):
    return [str(turn.id) for conversation in conversations for turn in conversation.turns]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("questions.json", True),
        ("questions-rewritten.json", True),
        ("scai-qrecc21-test-questions.json", True),
        ("scai-qrecc21-toy-questions-rewritten.json", True),
        ("ground-truth.json", False),
        ("questions.tsv", False),
    ],
)
def test_matches_files_by_name(tmp_path, name, expected):
    (tmp_path / name).write_text("[]")
    assert QReCC().has_input(tmp_path / name) is expected
    assert QReCC().has_input(tmp_path) is (name == "questions.json")
    assert not QReCC().has_input(tmp_path / "absent" / name)


def test_reads_a_directory_or_a_file(folder):
    path = folder([question(1, 1, "who?"), question(1, 2, "when?"), question("b", 1)])
    found = read(path)
    assert found == read(path / "questions.json")
    assert [conversation.id for conversation in found] == [1, "b"]
    assert [turn.question for turn in found[0].turns] == ["who?", "when?"]
    assert found[0].turns[1].id == TurnId(1, 2)
    assert found[0].turns[1].history == ()


def test_context_becomes_history(folder):
    turn = read(folder([question(1, 3, Context=["who?", "Ada.", "when?", ""])]))[0].turns[0]
    assert turn.history == (Exchange("who?", "Ada."), Exchange("when?", "", status="unanswered"))


def test_unordered_and_skipped_turns_are_mended_with_one_warning_each(folder, caplog):
    turns = [(2, 1), (1, 2), (2, 3), (1, 1), (3, 4)]
    assert ids(read(folder([question(*turn) for turn in turns]))) == ["2_1", "2_3", "1_1", "1_2", "3_4"]
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == [
        "sorted the turns of 1 conversation by Turn_no",
        "accepted gaps in Turn_no (skipped turns): 4",
    ]


def test_unknown_fields_are_named_once(folder, caplog):
    read(folder([question(1, 1, Answer="x"), question(1, 2, Answer="y", Url="z")]))
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == [
        "ignored unknown fields: Answer, Url"
    ]


def test_lone_surrogates_are_replaced_with_one_warning(folder, caplog):
    data = rb'[{"Conversation_no": 1, "Turn_no": 1, "Question": "a \ud83d b \udc00", "Context": ["\ud800", ""]}]'
    turn = read(folder(data))[0].turns[0]
    assert turn.question == "a \ufffd b \ufffd"
    assert turn.history[0].question == "\ufffd"
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == [
        "replaced 3 lone surrogates by U+FFFD"
    ]


def test_a_byte_order_mark_is_skipped(folder):
    assert ids(read(folder(b"\xef\xbb\xbf" + json.dumps([question(1, 1)]).encode()))) == ["1_1"]


GOOD = json.dumps([question(1, 1), question(1, 2)], indent=1).encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty; expected a JSON array of {Conversation_no, Turn_no, Question}"),
        (GOOD[:-9], r"line 10, column 15: invalid JSON"),
        (b'[{"Conversation_no": 1,]', r"line 1, column 24: invalid JSON \(.*\); expected a JSON array"),
        ({"turns": []}, r"expected a JSON array .*, got \{'turns': \[\]\}"),
        ([], "the array is empty"),
        ([3], "record 0: expected an object, got 3"),
        ([question(1, 1), {"Turn_no": 2, "Question": "x"}], "record 1: Conversation_no: is missing"),
        ([question(1, 1), {"Conversation_no": 1, "Turn_no": 2}], r"record 1 \(turn 1_2\): Question: is missing"),
        ([question(1, 1, None)], r"record 0 \(turn 1_1\): Question: expected a string, got None"),
        (
            [question(True, 1)],
            "Conversation_no: expected a whole number or a string, got True",
        ),
        (
            [question(1, 1), question(1, 2), question(1, 1)],
            r"record 2 \(turn 1_1\): is the turn of record 0 too\. Give each turn its own number",
        ),
        ([question(1, -1)], "Turn_no: expected 0 or more, got -1"),
        ([question(1, 1, Context="who?")], "Context: expected a list, got 'who[?]'"),
        (
            [question(1, 1, Context=["who?"])],
            r"Context: expected question, answer.*an even number",
        ),
    ],
)
def test_bad_files_are_refused_with_the_place(folder, content, message):
    path = folder(content)
    with pytest.raises(InputError, match=message) as caught:
        QReCC().read(path)
    assert str(caught.value).startswith(f"{path / 'questions.json'}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "conversations", "turns", "with_history"),
    [
        ("qrecc/test-trec", 80, 748, 0),
        ("conversations/inscit_dev", 86, 502, 416),
        ("conversations/mtrag_un", 507, 507, 465),
        ("conversations/or_sharc_dev", 1105, 1105, 810),
        ("conversations/cast2020", 25, 216, 0),
    ],
)
def test_real_files(name, conversations, turns, with_history):
    path = DATA / name
    if not path.exists():
        pytest.skip(f"the shared data is not here: {path}")
    found = read(path)
    all_turns = [turn for conversation in found for turn in conversation.turns]
    assert (len(found), len(all_turns)) == (conversations, turns)
    assert sum(bool(turn.history) for turn in all_turns) == with_history
