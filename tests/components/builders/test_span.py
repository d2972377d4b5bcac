"""One span as it stands."""

from __future__ import annotations

from convqa.components.builders.span import Span as Builder
from convqa.domain import Citation, Hit, Query, Ranking, Reading, Rewrite, Span, Turn, TurnId

TURN, REWRITE = Turn(TurnId(1, 1), "Who?"), Rewrite("Who?", (Query("Who?"),))
RANKING = Ranking(tuple(Hit(id, score) for id, score in (("a", 3.0), ("b", 2.0), ("c", 1.0), ("d", 0.5))))


def test_the_best_span_is_quoted_word_for_word():
    reading = Reading((Span("b", 5, 15, "Two\n  lines", 2.0), Span("a", 0, 3, "One", 1.0)), 0.0)
    answer = Builder().build(TURN, REWRITE, RANKING, reading)
    assert (answer.kind, answer.text, answer.score) == ("answer", "Two\n  lines", 2.0)
    assert [sentence.citations for sentence in answer.sentences] == [(Citation("b", 5, 15),)]


def test_without_a_span_there_is_no_answer():
    for reading in (None, Reading((), 0.0)):
        answer = Builder().build(TURN, REWRITE, RANKING, reading)
        assert (answer.kind, answer.text, answer.nearest) == ("none", "", ("a", "b", "c"))
