"""Ranks the passages of each turn, for tasks whose questions come with passages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from convqa.components.base import Retriever
from convqa.components.members import member
from convqa.components.parameters import Count
from convqa.domain import Hit, Passage, Query, Ranking, Turn
from convqa.text.analysis import analyzer, weigh
from convqa.text.bm25 import bm25


@member
class Given(Retriever):
    """Rank ``Turn.passages`` by BM25 over these passages, without a collection.

    Passages without words of the query follow the others in their given order, with scores 0, -1, -2 ... Every hit has
    its passage. The formula is that of the stores (:mod:`convqa.text.bm25`).

    Example::

        retriever: {type: given, init_parameters: {top_k: 20}}

    :param top_k: passages in a ranking.
    """

    top_k: Count = 100

    def search(
        self,
        turns: Sequence[Turn],
        queries: Sequence[Query],
    ) -> Sequence[Ranking]:
        return [self._rank(turn, query) for turn, query in zip(turns, queries, strict=True)]

    def _rank(self, turn: Turn, query: Query) -> Ranking:
        if turn.passages is None:
            raise ValueError(
                f"turn {turn.id} has no passages of its own, which the retriever 'given' ranks; to search a "
                "collection, use a pipeline with the retriever 'bm25'"
            )
        weights = weigh(query, analyzer(turn.language))
        scores = _scores(turn.passages, weights, turn.language)
        hits = []
        for index, (passage, score) in enumerate(zip(turn.passages, scores, strict=True)):
            hits.append(Hit(passage.id, score if score > 0 else float(-index), passage))
        return Ranking(Ranking.of(hits).hits[: self.top_k])


def _scores(
    passages: Sequence[Passage],
    weights: Mapping[str, float],
    language: str,
) -> list[float]:
    """Return the BM25 of each passage among these passages."""
    counts = [_counts(passage.title, passage.text, language) for passage in passages]
    lengths = np.array([length for _, length in counts], np.int64)
    filled = int(np.count_nonzero(lengths))
    if not filled or not weights:
        return [0.0] * len(counts)
    tokens = sorted(weights)  # the order in which the stores add terms
    frequencies = np.array([[count.get(token, 0) for count, _ in counts] for token in tokens])
    scores = bm25(
        frequencies,
        weights=np.array([weights[token] for token in tokens]),
        df=np.count_nonzero(frequencies, axis=1),
        lengths=lengths,
        passages=filled,
        average=float(lengths.sum()) / filled,
    )
    return [float(score) for score in scores]


@lru_cache(4096)
def _counts(
    title: str,
    text: str,
    language: str,
) -> tuple[Mapping[str, int], int]:
    """Return the count of each token and the number of tokens. Cached, because many questions share a passage."""
    tokens = [*analyzer(language).tokens(title), *analyzer(language).tokens(text)]
    return Counter(tokens), len(tokens)
