"""What the rerankers that read passages share: the head of a ranking, its passages, and the new order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from convqa.components.rankings import attach, behind, interpolate
from convqa.domain import Ranking
from convqa.stores import open_store
from convqa.stores.base import Store


class Reordering:
    """The other half of a reranker that gives the first ``depth`` hits new scores.

    What is behind them, and hits without a score, stay behind in their order.
    """

    collection: str | None
    depth: int
    top_k: int | None
    texts: int
    _store: Store | None = None

    def _open(self) -> None:
        if self._store is None and self.collection is not None:
            self._store = open_store(self.collection)

    def _heads(self, rankings: Sequence[Ranking]) -> list[Ranking]:
        """The first hits of each ranking, with their passages as far as these are known."""
        heads = [Ranking(ranking.hits[: self.depth]) for ranking in rankings]
        return heads if self._store is None else attach(heads, self.depth, self._store.fetch)

    def _reordered(self, ranking: Ranking, scores: Mapping[str, float], weight: float) -> Ranking:
        """The ranking in the order of the scores, which some of its first hits have.

        :param weight: of the new scores; below 1 old ones count too, both brought to 0 to 1 first.
        """
        if not scores:
            return Ranking(ranking.hits[: self.top_k])
        scored = [hit for hit in ranking.hits if hit.id in scores]
        ordered = Ranking.of([replace(hit, score=scores[hit.id]) for hit in scored])
        if weight < 1:
            ordered = interpolate([(weight, ordered), (1 - weight, Ranking(tuple(scored)))], len(scored))
        rest = [hit for hit in ranking.hits if hit.id not in scores]
        return Ranking(behind(ordered, rest).hits[: self.top_k])

    def _with_texts(self, rankings: Sequence[Ranking]) -> list[Ranking]:
        """The rankings, whose first ``texts`` hits carry their passages where these can be had."""
        return list(rankings) if self._store is None else attach(rankings, self.texts, self._store.fetch)
