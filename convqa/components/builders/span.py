"""Builds an answer of one span, word for word."""

from __future__ import annotations

from haystack import component

from convqa.components.base import Builder
from convqa.domain import Answer, Citation, Ranking, Reading, Rewrite, Sentence, Turn


@component
class Span(Builder):
    """The best span of the reading as it stands in its passage; without one there is no answer."""

    def build(self, turn: Turn, rewrite: Rewrite, ranking: Ranking, reading: Reading | None) -> Answer:
        if reading is None or not reading.spans:
            nearest = tuple(hit.id for hit in ranking.hits[:3])
            return Answer("none", "", reason="the reading has no span", nearest=nearest)
        best = reading.spans[0]
        said = Sentence(best.text, (Citation(best.passage_id, best.start, best.end),))
        return Answer.of((said,), turn.language, score=best.score)
