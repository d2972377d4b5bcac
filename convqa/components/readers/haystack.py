"""Wraps an extractive reader of Haystack."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated

from haystack import ExtractedAnswer
from pydantic import Field

from convqa.components.base import Reader
from convqa.components.haystack import Wrapper, to_document
from convqa.components.members import member
from convqa.domain import NotFinite, Passage, Ranking, Reading, Rewrite, Span, Turn
from convqa.validation import shorten


@member
class Haystack(Wrapper, Reader):
    """Find spans in the top passages with a reader of Haystack and the rewritten question.

    An answer with wrong offsets is located by its text. The null score is the score of the reader's "no answer" (an
    answer without text) or, without one, 0, or 1 if there is no span.

    :param component: has the inputs ``query`` and ``documents`` and the output ``answers``, of ``ExtractedAnswer``.
    :param passages: how many of the top passages are read, except blank ones.
    """

    takes = ("query", "documents")
    gives = "answers"

    passages: Annotated[int, Field(ge=1)] = 10

    def read_batch(
        self, turns: Sequence[Turn], rewrites: Sequence[Rewrite], rankings: Sequence[Ranking]
    ) -> Sequence[Reading]:
        return self._each_turn(self.read, turns, rewrites, rankings)

    def read(self, turn: Turn, rewrite: Rewrite, ranking: Ranking) -> Reading:
        hits = [hit for hit in ranking.hits[: self.passages] if hit.passage is not None and hit.passage.text.strip()]
        if not hits or not rewrite.text.strip():
            return Reading((), 1.0)
        passages = {hit.id: hit.passage for hit in hits if hit.passage is not None}
        answers = self._ask(query=rewrite.text, documents=[to_document(hit) for hit in hits])
        rank = {id: index for index, id in enumerate(passages)}
        spans = [_span(answer, passages) for answer in answers if answer.data]
        spans.sort(key=lambda span: (-span.score, rank[span.passage_id], span.start, span.end))
        unique: dict[tuple[str, int, int], Span] = {}
        for span in spans:
            unique.setdefault((span.passage_id, span.start, span.end), span)
        null_scores = [_finite(answer) for answer in answers if not answer.data]
        return Reading(tuple(unique.values()), max(null_scores, default=0.0 if spans else 1.0))


def _span(answer: ExtractedAnswer, passages: Mapping[str, Passage]) -> Span:
    """:raises ValueError: if the answer is not a quote of one of the passages."""
    passage = None if answer.document is None else passages.get(answer.document.id)
    if passage is None or answer.data is None:
        raise ValueError(f"the answer {shorten(answer.data)} is from an unknown passage")
    text = answer.data
    start = -1 if answer.document_offset is None else answer.document_offset.start
    if start < 0 or passage.text[start : start + len(text)] != text:
        start = passage.text.find(text)
    if start < 0:
        raise ValueError(f"the answer {shorten(text)} is not in passage {passage.id!r}")
    return Span(passage.id, start, start + len(text), text, _finite(answer))


def _finite(answer: ExtractedAnswer) -> float:
    score = float(answer.score)
    if not math.isfinite(score):
        raise NotFinite(f"the score of the answer {shorten(answer.data)} is {score}: scores must be finite numbers")
    return score
