"""Builds an answer of one span, word for word."""

from __future__ import annotations

from haystack import component

from convqa.components.base import Builder
from convqa.components.citations import nothing
from convqa.domain import Answer, Citation, Ranking, Reading, Rewrite, Sentence, Turn
from convqa.domain import Span as Part
from convqa.text.sentences import sentences


@component
class Span(Builder):
    """The best span of the reading as it stands in its passage; without one there is no answer.

    What is said is the span; what is cited, as its evidence, is all of the sentence that it is part of, or of
    several, where it is part of several.
    """

    def build(self, turn: Turn, rewrite: Rewrite, ranking: Ranking, reading: Reading | None) -> Answer:
        best = next((span for span in reading.spans if span.text.strip()), None) if reading else None
        if best is None:
            return nothing(ranking, "the reading has no span")
        return Answer.of((Sentence(best.text, (_evidence(best, ranking, turn.language),)),), turn.language)


def _evidence(span: Part, ranking: Ranking, language: str) -> Citation:
    """The sentences that a span is part of; a span may reach beyond them, into the white space between two."""
    text = next((hit.passage.text for hit in ranking.hits if hit.id == span.passage_id and hit.passage), "")
    touched = [(start, end) for start, end in sentences(text, language) if start < span.end and end > span.start]
    start = min([span.start, *(start for start, _ in touched)])
    return Citation(span.passage_id, start, max([span.end, *(end for _, end in touched)]))
