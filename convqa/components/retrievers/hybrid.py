"""Hybrid search: fuses the rankings of BM25 and of the query's vector."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field

from convqa.components import encoding
from convqa.components.base import Retriever
from convqa.components.encoding import ModelOptions
from convqa.components.members import member
from convqa.components.rankings import FUSIONS, behind
from convqa.components.retrievers.bm25 import BM25, Feedback
from convqa.components.retrievers.dense import Dense
from convqa.domain import Query, Ranking, Rewrite, Turn
from convqa.stores.address import redact
from convqa.stores.base import Stopwords, label

logger = logging.getLogger(__name__)

Weights = dict[Literal["sparse", "dense"], Annotated[float, Field(gt=0, allow_inf_nan=False)]]

_WEIGHTS: Weights = {"sparse": 1.0, "dense": 1.5}
"""Chosen on half of inscit and mtrag, with the fusion (docs/benchmarks/vectors.md)."""

_DEPTH = 100
"""Independent of ``top_k``, because the last fused passage determines the normalization of scores."""


@member
class Hybrid(Retriever):
    """Fuse two rankings of each query: ``sparse``, by BM25, and ``dense``, by vector.

    This is ``bm25`` and ``dense``, fused in one interchangeable node. If every passage has a vector of the
    encoder (``convqa index --vectors ENCODER``), all are compared with the query's. Otherwise only the first
    ``candidates`` of BM25 are, and their vectors are made for each turn. A collection in a language that the encoder
    does not know is ranked by words alone.

    :param top_k: passages in a ranking. It only truncates: the first 100 of both rankings are fused, and lower
        passages, fused in the same way, follow if these are fewer.
    :param fusion: ``interpolation``: sum of weight x score, with each ranking's scores normalized to 0 to 1; ``rrf``:
        sum of weight / (60 + rank).
    :param weights: weights of the rankings; defaults: 1 for ``sparse``, 1.5 for ``dense``.
    :param encoder: as in ``dense``. :param k1, b, title_weight, prf: as in ``bm25``.
    :param stopwords: as in ``bm25``, but with the long list as default.
    :param candidates: in a collection without all vectors, how many passages of the BM25 ranking are also ranked by
        vector; 0 = words alone.
    :param texts: how many of the first hits have their passages.
    :param options: ``device`` and ``precision`` of the encoder.
    """

    needs_collection = True

    collection: str | None = None
    top_k: Annotated[int, Field(ge=1)] = 100
    fusion: Literal["rrf", "interpolation"] = "interpolation"
    weights: Weights = Field(default_factory=dict)
    encoder: Annotated[str, Field(min_length=1)] | None = None
    k1: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    b: Annotated[float, Field(ge=0, le=1)] | None = None
    title_weight: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    stopwords: Stopwords = "long"
    prf: Feedback | None = None
    candidates: Annotated[int, Field(ge=0)] = 30
    texts: Annotated[int, Field(ge=0)] = 20
    options: ModelOptions | None = None

    def __post_init__(self) -> None:
        self.weights = {**_WEIGHTS, **self.weights}
        most = max(self.top_k, _DEPTH, self.candidates)
        self._sparse = BM25(
            self.collection, most, self.k1, self.b, self.title_weight, self.stopwords, texts=0, prf=self.prf
        )
        self._dense = Dense(self.collection, most, self.encoder, texts=0, options=self.options)

    def bind(self, collection: str) -> None:
        self.collection = self._sparse.collection = self._dense.collection = collection

    @cached_property
    def _among(self) -> int | None:
        """How many passages of the BM25 ranking are ranked by vector; None: the whole collection."""
        model, info = self._dense.models()["encoder"], self.store.info()
        name = f"collection {redact(str(self.collection))}"
        if unknown := encoding.unknown_language(model, info, name):
            if info.encoder is not None:
                logger.warning("%s: its passages are ranked by words alone, and its vectors are ignored", unknown)
            return 0
        if info.vectors == info.count and encoding.has_vectors_of(model, self.store):
            return None
        if info.encoder is not None:
            logger.warning(
                "%s has vectors of %s for %d of its %d passages: the first %d by words are ranked by those of %s",
                name, label(info.encoder), info.vectors, info.count, self.candidates, label(encoding.named(model)),
            )  # fmt: skip
        return self.candidates

    def warm_up(self) -> None:
        """Open the collection, and load the encoder if it is used."""
        self._sparse.warm_up()
        if self._among is None:
            self._dense.warm_up()

    def forecast(self, turns: int) -> str:
        if not self._among:
            return ""
        warning = encoding.forecast(self._dense.models()["encoder"], turns * self._among, str(self.collection))
        return warning and f"{warning} Fewer candidates, or none, take less time."

    def identity(self) -> Mapping[str, str]:
        return {} if self._among == 0 else self._dense.identity()

    def search_rewritten(
        self, turns: Sequence[Turn], rewrites: Sequence[Rewrite], queries: Sequence[Query]
    ) -> Sequence[Ranking]:
        sparse = self._sparse.search(turns, queries)
        if self._among == 0:
            return self.attached([Ranking(ranking.hits[: self.top_k]) for ranking in sparse], self.texts)
        if self._among is None:
            dense = self._dense.search_rewritten(turns, rewrites, queries)
        else:
            heads = [Ranking(ranking.hits[: self._among]) for ranking in sparse]
            dense = self._dense.among(rewrites, queries, heads)
        return self.attached([self._fused(*both) for both in zip(sparse, dense, strict=True)], self.texts)

    def _fused(self, sparse: Ranking, dense: Ranking) -> Ranking:
        """Fuse the first passages of both, followed by the lower ones."""
        fuse, weights = FUSIONS[self.fusion], (self.weights["sparse"], self.weights["dense"])
        first = Ranking(sparse.hits[:_DEPTH]), Ranking(dense.hits[:_DEPTH])
        fused = fuse(list(zip(weights, first, strict=True)), self.top_k)
        if len(fused.hits) == self.top_k:
            return fused
        known = {hit.id for hit in fused.hits}
        deeper = fuse(list(zip(weights, (sparse, dense), strict=True)), 2 * self.top_k)
        return behind(fused, [hit for hit in deeper.hits if hit.id not in known][: self.top_k - len(known)])
