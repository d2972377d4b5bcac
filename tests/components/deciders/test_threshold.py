"""The no-answer decision: scores, thresholds, languages, generated answers, and what is withheld."""

from __future__ import annotations

from dataclasses import replace

import pytest

from convqa.components.checks import verified
from convqa.components.deciders.threshold import Threshold
from convqa.domain import (
    TOLD,
    UNAIDED,
    UNSURE,
    Answer,
    Citation,
    Hit,
    Passage,
    Ranking,
    Reading,
    Rewrite,
    Sentence,
    Span,
    Turn,
    TurnId,
)

ADA = Passage("a", "Ada wrote notes. She died in 1852.")
RANKING = Ranking((Hit("a", 2.0, ADA), Hit("b", 1.0)))
QUOTE = Sentence("Ada wrote notes.", (Citation("a", 0, 16),))
TURN, REWRITE = Turn(TurnId(1, 1), "Who wrote notes?"), Rewrite.unchanged("Who wrote notes?")

ANSWER = Answer.of((QUOTE,), "en")


def decided(margin, answer=ANSWER, turn=TURN, **parameters):
    reading = Reading((Span("a", 0, 16, "Ada wrote notes.", 1.0 + margin),), 1.0)
    return Threshold(**parameters).decide(turn, REWRITE, RANKING, reading, answer)


def test_the_score_is_the_sigmoid_of_the_margin():
    assert decided(0.0).score == 0.5
    assert decided(2.0).score == pytest.approx(0.8808, abs=1e-4)
    assert 0 < decided(-1e9).score < decided(1e9).score <= 1
    assert Threshold().decide(TURN, REWRITE, RANKING, Reading((), 1.0), ANSWER).score == 0


def test_an_answer_below_the_threshold_is_withheld():
    refused = decided(-1.0, min_score=0.5)
    assert (refused.kind, refused.text, refused.nearest) == ("none", "", ("a", "b"))
    assert refused.reason == "the passages found do not seem to answer the question"
    assert refused.withheld == QUOTE and refused.cited_ids() == {"a"}
    assert Answer.from_json(refused.to_json()) == refused == verified(refused, RANKING)
    with pytest.raises(ValueError, match="withholds a sentence"):
        verified(replace(ANSWER, withheld=QUOTE), RANKING)


def test_an_answer_between_the_thresholds_is_unsure():
    thresholds = {"min_score": 0.5, "sure_score": 0.9}
    assert decided(1.0, **thresholds).notes == (UNSURE,)
    assert decided(3.0, **thresholds).notes == ()
    told = replace(ANSWER, notes=(TOLD,))
    assert decided(1.0, answer=told, **thresholds).notes == (UNSURE,)
    assert decided(3.0, answer=told, **thresholds).notes == (TOLD,)
    assert decided(-1.0, **thresholds).kind == "none"


def test_nothing_is_decided_in_another_language_without_a_reading_or_on_a_models_own_words():
    thresholds = {"min_score": 1.0, "language": "en"}
    assert decided(0.0, turn=replace(TURN, language="de"), **thresholds).score is None
    answer = ANSWER
    assert Threshold(min_score=1.0).decide(TURN, REWRITE, RANKING, None, answer) == answer
    assert decided(0.0, min_score=1.0, decide_generated=False) == answer
    unaided = replace(answer, notes=(UNAIDED,))
    assert decided(0.0, unaided, min_score=1.0, decide_generated=False).kind == "none"


def test_a_question_of_the_system_is_not_refused():
    asked = Answer("question", "Which notes?")
    assert decided(-9.0, asked, min_score=0.9).kind == "question"
