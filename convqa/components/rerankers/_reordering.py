"""The base of the rerankers that read passages: the head of a ranking, its passages, and the new order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from convqa.components.base import Reranker
from convqa.components.rankings import attach, behind, interpolate
from convqa.domain import Ranking, Rewrite, Turn
from convqa.stores import open_store
from convqa.stores.base import Store


class Reordering(Reranker):
    """Give the first ``depth`` hits new scores. What is behind them, and hits without a score, stay behind in order.

    ``weight`` is that of the new scores; below 1 old ones count too, both brought to 0 to 1 first.
    """

    collection: str | None
    depth: int
    top_k: int | None
    weight: float
    texts: int

    def scores(
        self, turns: Sequence[Turn], rewrites: Sequence[Rewrite], rankings: Sequence[Ranking]
    ) -> Sequence[Mapping[str, float]]:
        """For each ranking id -> new score, of those of its first hits that can be scored."""
        raise NotImplementedError

    @cached_property
    def _store(self) -> Store | None:
        return None if self.collection is None else open_store(self.collection)

    def warm_up(self) -> None:
        _ = self._store
        super().warm_up()

    def rerank_batch(
        self, turns: Sequence[Turn], rewrites: Sequence[Rewrite], rankings: Sequence[Ranking]
    ) -> Sequence[Ranking]:
        self.warm_up()
        found = self.scores(turns, rewrites, rankings)
        ordered = [self._reordered(*row) for row in zip(rankings, found, strict=True)]
        return ordered if self._store is None else attach(ordered, self.texts, self._store.fetch)

    def _heads(self, rankings: Sequence[Ranking]) -> list[Ranking]:
        """The first hits of each ranking, with their passages as far as these are known."""
        heads = [Ranking(ranking.hits[: self.depth]) for ranking in rankings]
        return heads if self._store is None else attach(heads, self.depth, self._store.fetch)

    def _reordered(self, ranking: Ranking, scores: Mapping[str, float]) -> Ranking:
        if not scores:
            return Ranking(ranking.hits[: self.top_k])
        scored = [hit for hit in ranking.hits if hit.id in scores]
        ordered = Ranking.of([replace(hit, score=scores[hit.id]) for hit in scored])
        if self.weight < 1:
            ordered = interpolate([(self.weight, ordered), (1 - self.weight, Ranking(tuple(scored)))], len(scored))
        rest = [hit for hit in ranking.hits if hit.id not in scores]
        return Ranking(behind(ordered, rest).hits[: self.top_k])
