"""Reads sentences that are likely to be part of the right answer.

They are scored by words shared with the question and by their form, without a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from convqa.components.base import Reader
from convqa.components.members import member
from convqa.components.parameters import Count
from convqa.components.readers import _sentence_scoring as scoring
from convqa.domain import Passage, Ranking, Reading, Rewrite, Span, Turn
from convqa.text.quotes import quotable_units

_MAX_SPANS = 8
"""Maximum spans of a turn."""


@member
class SentencesReader(Reader):
    """Score each sentence of the top passages by the expected share of its words in a right answer.

    The score, from 0 to 1, depends on the share of the question's words, weighted by idf, in the sentence or its
    passage's title; on the weighted history terms; on the passage (density, rank); and on the sentence itself
    (position, length, form). It needs no model, and any language with an analysis will do (docs/reference/reading.md).
    The null score is the share of the question that no sentence with its title contains: 1 if no word of the question
    was found, 0 if one sentence has all of them.

    Example::

        reader: {type: sentences, init_parameters: {max_passages: 10}}

    :param max_passages: how many of the top passages are read, except those without text.
    """

    max_passages: Count = 10

    def read(
        self,
        turn: Turn,
        rewrite: Rewrite,
        ranking: Ranking,
    ) -> Reading:
        query = scoring.query_tokens(rewrite, turn.language)
        sentences: list[Span] = []
        max_covered = 0.0
        passages = {}
        for rank, hit in enumerate(ranking.hits[: self.max_passages]):
            if hit.passage is None:
                continue
            passages[hit.id] = hit.passage
            analyzed = scoring.analyzed(hit.passage, turn.language)
            scores, covered = scoring.sentence_scores(analyzed, query, rank)
            max_covered = max(max_covered, covered)
            for (start, end), score in zip(analyzed.offsets, scores, strict=True):
                sentences.append(_span(hit.passage, start, end, scoring.expected(score)))
        sentences.sort(key=lambda span: -span.score)
        spans = _quotable(sentences, passages, turn.language)
        # If no sentence is quotable, return the best one.
        return Reading(tuple(spans or sentences[:1]), max(0.0, 1 - max_covered))


def _span(
    passage: Passage,
    start: int,
    end: int,
    score: float,
) -> Span:
    return Span(passage.id, start, end, passage.text[start:end], score)


def _quotable(sentences: Sequence[Span], passages: Mapping[str, Passage], language: str) -> list[Span]:
    """Return the first :data:`_MAX_SPANS` sentences that are fit to be quoted, with the characters to quote."""
    spans: list[Span] = []
    for span in sentences:
        if len(spans) == _MAX_SPANS:
            break
        passage = passages[span.passage_id]
        bounds = quotable_units(passage, span.start, span.end, language)
        if bounds is not None:
            spans.append(_span(passage, *bounds, span.score))
    return spans
