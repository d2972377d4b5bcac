"""Builds answers of one span."""

from __future__ import annotations

from convqa.components.base import Builder
from convqa.components.checks import nothing
from convqa.components.members import member
from convqa.domain import Answer, Citation, Ranking, Reading, Rewrite, Sentence, Turn
from convqa.text.sentences import whole_sentences


@member
class SpanBuilder(Builder):
    """Answer with the best span of the reading, citing the whole sentences that contain it. No span, no answer.

    Example::

        builder: {type: span}
    """

    def build(
        self,
        turn: Turn,
        rewrite: Rewrite,
        ranking: Ranking,
        reading: Reading | None,
    ) -> Answer:
        spans = [span for span in reading.spans if span.text.strip()] if reading else []
        if not spans:
            return nothing(ranking, "the reading has no span")
        best = spans[0]
        texts = ranking.texts()
        text = texts.get(best.passage_id, "")
        start, end = whole_sentences(
            text,
            best.start,
            best.end,
            turn.language,
        )
        citation = Citation(best.passage_id, start, end)
        return Answer.of([Sentence(best.text, (citation,))], turn.language)
