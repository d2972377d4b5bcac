"""One span as it stands, with the sentence that it is part of as its evidence."""

from __future__ import annotations

from convqa.components.builders.span import SpanBuilder as Builder
from convqa.domain import Citation, Hit, Passage, Query, Ranking, Reading, Rewrite, Span, Turn, TurnId

TURN, REWRITE = Turn(TurnId(1, 1), "Who?"), Rewrite("Who?", (Query("Who?"),))
P = Passage("b", "One was here. Two\n  lines were there. Three.")
RANKING = Ranking((Hit("a", 3.0), Hit("b", 2.0, P), Hit("c", 1.0), Hit("d", 0.5)))


def span(text, score=1.0):
    start = P.text.index(text)
    return Span("b", start, start + len(text), text, score)


def build(*spans):
    return Builder().build(TURN, REWRITE, RANKING, Reading(spans, 0.0))


def test_the_best_span_is_said_word_for_word_and_its_sentence_cited():
    answer = build(span("Two\n  lines", 2.0), Span("a", 0, 3, "One", 1.0))
    assert (answer.kind, answer.text, answer.score) == ("answer", "Two\n  lines", None)
    ((citation,),) = (sentence.citations for sentence in answer.sentences)
    assert P.text[citation.start : citation.end] == "Two\n  lines were there."
    assert citation.passage_id == "b"


def test_a_span_over_two_sentences_cites_both():
    ((citation,),) = (sentence.citations for sentence in build(span("here. Two")).sentences)
    assert citation == Citation("b", 0, P.text.index(" Three"))


def test_without_a_span_there_is_no_answer():
    blank = Reading((Span("b", 13, 14, " ", 1.0),), 0.0)
    for reading in (None, Reading((), 0.0), blank):
        answer = Builder().build(TURN, REWRITE, RANKING, reading)
        assert (answer.kind, answer.text, answer.nearest) == ("none", "", ("a", "b", "c"))
        assert answer.reason == "the reading has no span"
