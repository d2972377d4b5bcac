"""Builds answers of one span."""

from __future__ import annotations

from convqa.components.base import Builder
from convqa.components.checks import nothing
from convqa.components.members import member
from convqa.domain import Answer, Citation, Ranking, Reading, Rewrite, Sentence, Turn
from convqa.text.sentences import whole_sentences


@member
class Span(Builder):
    """Answer with the best span of the reading, citing the whole sentences that contain it. No span, no answer."""

    def build(self, turn: Turn, rewrite: Rewrite, ranking: Ranking, reading: Reading | None) -> Answer:
        best = next((span for span in reading.spans if span.text.strip()), None) if reading else None
        if best is None:
            return nothing(ranking, "the reading has no span")
        text = next((hit.passage.text for hit in ranking.hits if hit.id == best.passage_id and hit.passage), "")
        evidence = Citation(best.passage_id, *whole_sentences(text, best.start, best.end, turn.language))
        return Answer.of((Sentence(best.text, (evidence,)),), turn.language)
