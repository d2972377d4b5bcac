from __future__ import annotations

import json

import pytest

from convqa.domain import TurnId
from convqa.errors import InputError
from convqa.tasks.qrecc.task import QReCC

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
    assert "1 repeated turn; QR and ROUGE1-R count each" in caplog.text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"a": 1}, r"expected a JSON array of \{Conversation_no, Turn_no, Truth_rewrite.*, got \{'a': 1\}"),
        ([RECORD, {"Conversation_no": 1}], "record 1: Turn_no: is missing"),
    ],
)
def test_bad_truth_is_refused_with_the_place(tmp_path, content, message):
    with pytest.raises(InputError, match=message) as caught:
        QReCC().gold(write(tmp_path, content))
    assert str(caught.value).startswith(str(tmp_path / "ground-truth.json"))


def test_a_byte_order_mark_is_refused_as_officially(tmp_path):
    path = write(tmp_path, [RECORD]) / "ground-truth.json"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    with pytest.raises(InputError, match=r"ground-truth\.json: begins with a byte order mark"):
        QReCC().gold(tmp_path)


def test_missing_truth(tmp_path):
    with pytest.raises(InputError, match=r"ground-truth\.json: no such file; expected a JSON array of"):
        QReCC().gold(tmp_path)
