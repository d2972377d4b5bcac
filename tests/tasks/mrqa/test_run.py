"""predictions.json: written whole, read back, checked."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convqa.domain import Answer, Failure, Response, TurnId
from convqa.errors import InputError
from convqa.tasks.mrqa.task import MRQA


def said(id, text):
    return Response(TurnId(id, 1), answer=Answer("answer", text))


def test_every_question_is_there_with_or_without_an_answer(tmp_path):
    responses = [
        said("q1", 'a "quote"\n'),
        Response(TurnId("q2", 1), answer=Answer("none", "", reason="no span")),
        Response(TurnId("q3", 1), error=Failure("reader", "ValueError", "no")),
    ]
    path = MRQA().write(responses, tmp_path, frozenset({"answers"}))
    assert path.name == "predictions.json"
    assert json.loads(path.read_text()) == {"q1": 'a "quote"\n', "q2": "", "q3": ""}
    assert len(path.read_text().splitlines()) == 5
    assert json.loads(MRQA().write([], tmp_path, frozenset()).read_text()) == {}


@settings(deadline=None)
@given(st.dictionaries(st.text(), st.text()))
def test_what_is_written_is_read_back(tmp_path_factory, answers):
    folder = tmp_path_factory.mktemp("run")
    MRQA().write((said(id, text) for id, text in answers.items()), folder, frozenset({"answers"}))
    assert MRQA().read_run(folder).answers == answers
    assert MRQA().read_run(folder / "predictions.json").answers == answers


def test_check_lists_every_problem(write, predict):
    truth = write("x.jsonl", {"context": "c", "qas": [{"qid": id, "question": "?"} for id in "abc"]})
    assert MRQA().check(truth, predict({"a": "", "b": "x", "c": "y"})) == []
    run = predict({"a": None, "b": ["x"], "d": "y"})
    assert [problem.removeprefix(f"{run / 'predictions.json'}: ") for problem in MRQA().check(truth, run)] == [
        "a: expected a string, got None",
        "b: expected a string, got ['x']",
        "1 of 3 questions of the input are missing: c",
        "1 of 3 questions are not in the input: d",
    ]
    (run / "predictions.json").write_text("{")
    (problem,) = MRQA().check(truth, run / "predictions.json")
    assert "invalid JSON" in problem
    (run / "predictions.json").write_text("[]")
    assert MRQA().check(truth, run) == [f"{run / 'predictions.json'}: expected an object, got []"]


def test_a_byte_order_mark_is_refused_as_officially(write, predict):
    truth = write("x.jsonl", {"context": "c", "qas": [{"qid": "a", "question": "?", "answers": ["c"]}]})
    run = predict({"a": "c"}) / "predictions.json"
    run.write_bytes(b"\xef\xbb\xbf" + run.read_bytes())
    with pytest.raises(InputError, match=r"predictions\.json: begins with a byte order mark \(BOM\)"):
        MRQA().read_run(run)
    (problem,) = MRQA().check(truth, run)
    assert problem.startswith(f"{run}: begins with a byte order mark ")


def test_no_run(tmp_path):
    with pytest.raises(InputError, match=r"predictions\.json: no such file; expected a JSON object \{qid: answer\}"):
        MRQA().read_run(tmp_path)
