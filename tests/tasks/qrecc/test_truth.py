from __future__ import annotations

import json

import pytest

from convqa.domain import TurnId
from convqa.errors import InputError
from convqa.tasks.qrecc import QReCC

RECORD = {"Conversation_no": 1, "Turn_no": 2, "Truth_rewrite": "r", "Truth_passages": ["a"], "Truth_answer": "x"}


def write(tmp_path, content):
    (tmp_path / "ground-truth.json").write_text(json.dumps(content))
    return tmp_path


def test_all_fields_are_kept(tmp_path):
    path = write(tmp_path, [RECORD | {"Source": "quac", "Relevance": {"a": 2}}])
    for place in (path, path / "ground-truth.json"):
        (turn,) = QReCC().gold(place).turns
        assert (turn.id, turn.rewrite, turn.passages, turn.answer) == (TurnId(1, 2), "r", ("a",), "x")
        assert turn.fields["Source"] == "quac"
        assert turn.fields["Relevance"] == {"a": 2}


def test_passages_may_be_missing_as_officially(tmp_path):
    (turn,) = QReCC().gold(write(tmp_path, [{k: v for k, v in RECORD.items() if k != "Truth_passages"}])).turns
    assert turn.passages == ()


def test_repeated_turns_are_told(tmp_path, caplog):
    assert len(QReCC().gold(write(tmp_path, [RECORD, RECORD])).turns) == 2
    assert "1 turns occur again; QR and ROUGE1-R count each" in caplog.text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"a": 1}, r"found \{'a': 1\}; wanted a JSON array of \{Conversation_no, Turn_no, Truth_rewrite"),
        ([RECORD, {"Conversation_no": 1}], "record 1: Turn_no: is missing"),
        (
            [{k: v for k, v in RECORD.items() if k != "Truth_answer"}],
            r"record 0 \(turn 1_2\): Truth_answer: is missing",
        ),
        ([RECORD | {"Truth_rewrite": None}], "Truth_rewrite: found None; input should be a valid string"),
        ([RECORD | {"Truth_passages": {"a": 1}}], r"Truth_passages: found \{'a': 1\}; input should be a valid list"),
        ([RECORD | {"Truth_passages": [1]}], r"Truth_passages\[0\]: found 1; input should be a valid string"),
        ([RECORD, RECORD | {"Conversation_no": "1"}], "Conversation_no 1 is a number here and a string there"),
    ],
)
def test_bad_truth_is_refused_with_the_place(tmp_path, content, message):
    with pytest.raises(InputError, match=message) as caught:
        QReCC().gold(write(tmp_path, content))
    assert str(caught.value).startswith(str(tmp_path / "ground-truth.json"))


def test_missing_truth(tmp_path):
    with pytest.raises(InputError, match=r"ground-truth\.json: no such file; wanted a JSON array of"):
        QReCC().gold(tmp_path)
