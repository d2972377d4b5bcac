from __future__ import annotations

import json

import pytest

from convqa.domain import Answer, Citation, Hit, Passage, Ranking, Response, Rewrite, Sentence, TurnId
from convqa.errors import InputError
from convqa.tasks.qrecc.task import QReCC

QUESTIONS = [{"Conversation_no": 1, "Turn_no": turn, "Question": "what?"} for turn in (1, 2)]
CITATION = {"passage_id": "a", "start": 0, "end": 3, "text": "Ada", "sentence": "Ada."}


def record(turn=1, **fields):
    base = {"Model_rewrite": "r", "Model_passages": {"a": 1.5}, "Model_answer": "Ada."}
    return {"Conversation_no": 1, "Turn_no": turn} | base | fields


def without(data, *names):
    return {name: value for name, value in data.items() if name not in names}


@pytest.fixture
def problems(tmp_path):
    def checked(run, questions=QUESTIONS):
        (tmp_path / "questions.json").write_text(json.dumps(questions))
        (tmp_path / "run.json").write_text(run if isinstance(run, str) else json.dumps(run))
        found = QReCC().check(tmp_path, tmp_path)
        assert all(problem.startswith(f"{tmp_path / 'run.json'}: ") for problem in found)
        return [problem.removeprefix(f"{tmp_path / 'run.json'}: ") for problem in found]

    return checked


def test_a_good_run_has_no_problems(problems):
    evidence = {"passage_id": "a", "text": "Ada"}
    good = [record(n, Model_evidence=evidence, Model_citations=[CITATION]) for n in (1, 2)]
    assert problems(good) == []


def test_scores_of_answers_are_from_0_to_1_and_need_not_be_everywhere(problems):
    assert problems([record(1, Model_answer_score=1.0), record(2)]) == []
    found = problems([record(1, Model_answer_score=1.5), record(2, Model_answer_score=None)])
    assert found == [
        "record 0 (turn 1_1): Model_answer_score: expected at most 1, got 1.5",
        "record 1 (turn 1_2): Model_answer_score: expected a number, got None",
    ]


def test_what_convqa_writes_has_no_problems(tmp_path):
    (tmp_path / "questions.json").write_text(json.dumps(QUESTIONS))
    passage = Passage("a b", "Ada wrote.")
    answer = Answer("answer", "Ada wrote.", (Sentence("Ada wrote.", (Citation("a b", 0, 3), Citation("a b"))),))
    responses = [
        Response(TurnId(1, 1), Rewrite("r", ()), Ranking((Hit("a b", 1.0, passage),)), None, answer),
        Response(TurnId(1, 2)),
    ]
    QReCC().write(responses, tmp_path, frozenset({"rewrites", "rankings", "answers"}))
    assert QReCC().check(tmp_path, tmp_path / "run.json") == []


def test_all_problems_come_at_once(problems):
    run = [
        record(1, Model_passages=None, Model_answer=3),
        record(1, Model_rewrite=None),
        record(9, Model_passages={"": 1, "b": float("nan")}),
        7,
    ]
    assert problems(run) == [
        "record 0 (turn 1_1): Model_passages: expected an object, got None",
        "record 0 (turn 1_1): Model_answer: expected a string, got 3",
        "record 1 (turn 1_1): Model_rewrite: expected a string, got None",
        "record 2 (turn 1_9): Model_passages.b: expected a finite number, got nan",
        "record 3: expected an object, got 7",
        "1 of 2 turns of the input are missing: 1_2",
        "1 of 2 turns are not in the input: 1_9",
        "1 of 2 turns occur more than once: 1_1",
    ]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"Model_passages": {"": 1}}, "Model_passages: expected passage ids that are not empty, got {'': 1}"),
        ({"Model_passages": {"a": "1"}}, "Model_passages.a: expected a number, got '1'"),
        ({"Turn_no": 1.0}, "Turn_no: expected a whole number, got 1.0"),
        ({"Model_evidence": {"id": "a"}}, "Model_evidence.id: unknown field"),
        ({"Model_citations": [CITATION | {"start": -1}]}, "Model_citations[0].start: expected 0 or more, got -1"),
        ({"Model_citations": [without(CITATION, "sentence")]}, "Model_citations[0].sentence: is missing"),
    ],
)
def test_each_kind_of_problem(problems, fields, message):
    other = {
        name: {"Model_evidence": {}, "Model_citations": []}[name]
        for name in fields
        if name in ("Model_evidence", "Model_citations")
    }
    found = problems([record(1, **fields), record(2, **other)])
    assert len(found) == 1
    assert found[0].startswith(f"record 0 (turn 1_{fields.get('Turn_no', 1)}): {message}")


def test_fields_on_some_turns_only(problems):
    assert problems([record(1), without(record(2), "Model_passages")]) == [
        "1 of 2 turns lack Model_passages, which others have: 1_2"
    ]
    assert problems([without(record(turn), "Model_passages") for turn in (1, 2)]) == []


def test_a_conversation_number_of_another_type_is_another_turn(problems):
    found = problems([record(turn) | {"Conversation_no": "1"} for turn in (1, 2)])
    assert found == [
        "2 of 2 turns of the input are missing: 1_1, 1_2",
        "2 of 2 turns are not in the input: '1'_1, '1'_2",
    ]


def test_unknown_fields_are_warned_of(problems, caplog):
    assert problems([record(1, Model_answers="x"), record(2)]) == []
    assert "ignored unknown fields: Model_answers" in caplog.text


@pytest.mark.parametrize(
    ("run", "message"),
    [("", "the file is empty"), ("[1,", "line 1, column 4: invalid JSON"), ("{}", "expected a JSON array of")],
)
def test_a_file_that_is_no_array_is_one_problem(problems, run, message):
    (found,) = problems(run)
    assert found.startswith(message)


def test_questions_that_cannot_be_read_are_an_error(problems):
    with pytest.raises(InputError, match=r"questions\.json: record 0: expected an object, got 3"):
        problems([], [3])
