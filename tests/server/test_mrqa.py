"""``answer_context``: every question answered, gold left outside, mistakes named."""

from __future__ import annotations

import copy

import pytest

from convqa.errors import InputError
from convqa.server.mrqa import answer_context


def test_every_question_has_an_answer(qa, line):
    assert answer_context(qa, line) == {"q1": "Goethe wrote Faust.", "q2": "Schiller wrote Wallenstein."}


def test_the_questions_of_a_context_are_one_run(qa, line, monkeypatch):
    seen = []
    run = qa.pipeline.run
    monkeypatch.setattr(qa.pipeline, "run", lambda turns, on_output=None: seen.append(turns) or run(turns, on_output))
    answer_context(qa, line)
    assert [len(turns.items) for turns in seen] == [2]
    assert len({turn.passages for turn in seen[0].items}) == 1


def test_no_component_sees_gold(qa, line, monkeypatch):
    seen = []
    run = qa.pipeline.run
    monkeypatch.setattr(qa.pipeline, "run", lambda turns, on_output=None: seen.append(turns) or run(turns, on_output))
    bare = copy.deepcopy(line)
    for asked in bare["qas"]:
        asked.pop("answers")
        asked.pop("detected_answers", None)
    assert answer_context(qa, line) == answer_context(qa, bare)
    assert seen[0].items == seen[1].items
    assert "gold of" not in repr(seen)


def test_what_is_not_answered_is_the_empty_string(qa, line):
    assert answer_context(qa, {**line, "context": ""}) == {"q1": "", "q2": ""}


def test_a_turn_that_fails_is_the_empty_string_and_said(qa, line, monkeypatch, caplog):
    from convqa.components.readers.sentences import SentencesReader

    read_batch = SentencesReader.read_batch

    def failing(self, turns, rewrites, rankings):
        if any("Faust" in turn.question for turn in turns):
            raise ValueError("no light")
        return read_batch(self, turns, rewrites, rankings)

    monkeypatch.setattr(SentencesReader, "read_batch", failing)
    monkeypatch.setattr("convqa.server.mrqa.log.propagate", True)
    assert answer_context(qa, line) == {"q1": "", "q2": "Schiller wrote Wallenstein."}
    assert "turn q1_1 failed" in caplog.text and "no light" in caplog.text


@pytest.mark.parametrize(
    "asks_nothing", [{"header": {"dataset": "X"}}, {"context": "x"}, {}, {"context": "x", "qas": []}]
)
def test_a_line_that_asks_nothing(qa, asks_nothing):
    assert answer_context(qa, asks_nothing) == {}


def test_a_header_is_a_header_wherever_it_stands(qa, line):
    assert answer_context(qa, {**line, "header": {}}) == {}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ([], "the body: expected an object with context and qas, got list"),
        ({"qas": []}, "context: is missing"),
        ({"context": 3, "qas": []}, "context: expected a string, got 3"),
        ({"context": "x", "qas": {}}, "qas: expected a list, got {}"),
        ({"context": "x", "qas": [{"qid": "a", "question": "?"}, {"question": "?"}]}, r"qas\[1\].qid: is missing"),
        ({"context": "x", "qas": [{"qid": 1, "question": "?"}]}, r"qas\[0\].qid: expected a string, got 1"),
        ({"context": "x", "qas": [{"qid": "a", "question": None}]}, r"qas\[0\].question: expected a string, got None"),
        (
            {"context": "x", "qas": [{"qid": "a", "question": "?"}] * 2},
            "occurs twice",
        ),
    ],
)
def test_mistakes_name_the_field(qa, wrong, said):
    with pytest.raises(InputError, match=said):
        answer_context(qa, wrong)
