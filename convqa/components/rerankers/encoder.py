"""The first hits in the order of the cosine between the query's vector and theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Annotated, Any, cast

from numpy.typing import NDArray
from pydantic import Field

from convqa.components.encoding import DEFAULT_TEXTS, ModelOptions, QueryEncoder, Texts
from convqa.components.members import member
from convqa.components.rerankers._reordering import Reordering
from convqa.domain import Ranking, Rewrite, Turn
from convqa.models import TextEncoder
from convqa.stores.base import WritableStore


@member
class Encoder(Reordering):
    """Reorder by vectors, at the cost of one query vector where the collection has those of the encoder.

    Where it has none, or another's, the passages are encoded, each once per batch. A hit without a vector, or whose
    passage is not known, stays behind the others. A rewrite with several queries counts each by its weight.

    :param depth: how many of the first hits are reordered; the others stay behind them.
    :param top_k: passages in a ranking; None = as many as there were.
    :param encoder, vectors, options: as of the retriever ``dense``.
    :param weight: of the cosine; below 1, (1 - weight) x the old score is added, both brought to 0 to 1 first.
    :param texts: how many top hits carry their passage for the stations behind.
    """

    collection: str | None = None
    depth: Annotated[int, Field(ge=1)] = 100
    top_k: Annotated[int, Field(ge=1)] | None = None
    encoder: Annotated[str, Field(min_length=1)] = "encoder"
    vectors: Texts = Field(default_factory=lambda: [*DEFAULT_TEXTS])
    weight: Annotated[float, Field(gt=0, le=1)] = 1.0
    texts: Annotated[int, Field(ge=0)] = 20
    options: ModelOptions | None = None

    def __post_init__(self) -> None:
        self._queries = QueryEncoder(self.encoder, self.vectors, self.options)

    def models(self) -> Mapping[str, TextEncoder]:
        return {"encoder": self._queries.model}

    def scores(
        self, turns: Sequence[Turn], rewrites: Sequence[Rewrite], rankings: Sequence[Ranking]
    ) -> Sequence[Mapping[str, float]]:
        ids = [[hit.id for hit in ranking.hits[: self.depth]] for ranking in rankings]
        known = self._passage_vectors(rankings, list(dict.fromkeys(chain.from_iterable(ids))))
        return [
            {} if vector is None else {id: float(known[id] @ vector) for id in some if id in known}
            for some, vector in zip(ids, self._queries.of_rewrites(turns, rewrites), strict=True)
        ]

    def _passage_vectors(self, rankings: Sequence[Ranking], ids: Sequence[str]) -> Mapping[str, NDArray[Any]]:
        """Id -> vector of the first passages: as the collection has them, else made now."""
        if self._store is not None and self._store.info().encoder == self._queries.encoder:
            # A store with vectors is one that convqa writes.
            vectors = cast(WritableStore, self._store).vectors(ids)
            return {id: found for id, found in zip(ids, vectors, strict=True) if found is not None}
        heads = self._heads(rankings)
        texts = {hit.id: hit.passage.whole_text for head in heads for hit in head.hits if hit.passage is not None}
        if not texts:
            return {}
        return dict(zip(texts, self._queries.model.encode(list(texts.values()), role="passage"), strict=True))
