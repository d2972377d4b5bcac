"""Hybrid search: fuses the rankings of BM25 and of the query's vector."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt

from convqa.components import encoding
from convqa.components.base import Retriever
from convqa.components.encoding import ModelOptions
from convqa.components.members import member
from convqa.components.parameters import Count, Name, Share
from convqa.components.rankings import FUSIONS, behind
from convqa.components.retrievers.bm25 import BM25, NonNegative
from convqa.components.retrievers.dense import Dense
from convqa.domain import Query, Ranking, Rewrite, Turn
from convqa.stores.address import redact
from convqa.stores.base import Stopwords, label

logger = logging.getLogger(__name__)

Weights = dict[Literal["sparse", "dense"], Annotated[float, Field(gt=0, allow_inf_nan=False)]]

_DEFAULT_WEIGHTS: Weights = {"sparse": 1.0, "dense": 1.5}
"""Chosen on half of inscit and mtrag, with the fusion (docs/benchmarks/vectors.md)."""

_FUSION_DEPTH = 100
"""How many of the first passages are fused. This does not depend on ``top_k``, because the last fused passage
determines the normalization of scores."""


@member
class Hybrid(Retriever):
    """Fuse two rankings of each query: ``sparse``, by BM25, and ``dense``, by vector.

    This is ``bm25`` and ``dense``, fused in one interchangeable node. If every passage has a vector of the
    encoder (``convqa index --vectors ENCODER``), all are compared with the query's. Otherwise only the first
    ``candidates`` of BM25 are, and their vectors are made for each turn. A collection in a language that the encoder
    does not know is ranked by words alone.

    Example::

        retriever: {type: hybrid, init_parameters: {fusion: rrf, candidates: 50}}

    :param top_k: passages in a ranking. It only truncates: the first 100 of both rankings are fused, and lower
        passages, fused in the same way, follow if these are fewer.
    :param fusion: ``interpolation``: sum of weight x score, with each ranking's scores normalized to 0 to 1; ``rrf``:
        sum of weight / (60 + rank).
    :param weights: weights of the rankings; defaults: 1 for ``sparse``, 1.5 for ``dense``.
    :param encoder, query_encoder: as in ``dense``. :param k1, b, title_weight: as in ``bm25``.
    :param stopwords: as in ``bm25``, but with the long list as default.
    :param candidates: in a collection without all vectors, how many passages of the BM25 ranking are also ranked by
        vector; 0 = words alone.
    :param max_texts: how many of the first hits have their passages.
    :param options: ``device`` and ``precision`` of the encoder.
    """

    needs_collection = True

    collection: str | None = None
    top_k: Count = 100
    fusion: Literal["rrf", "interpolation"] = "interpolation"
    weights: Weights = Field(default_factory=dict)
    encoder: Name | None = None
    query_encoder: Name | None = None
    k1: NonNegative | None = None
    b: Share | None = None
    title_weight: NonNegative | None = None
    stopwords: Stopwords = "long"
    candidates: NonNegativeInt = 30
    max_texts: NonNegativeInt = 20
    options: ModelOptions | None = None

    def __post_init__(self) -> None:
        self.weights = {**_DEFAULT_WEIGHTS, **self.weights}
        depth = max(self.top_k, _FUSION_DEPTH, self.candidates)
        self._sparse = BM25(
            self.collection,
            depth,
            self.k1,
            self.b,
            self.title_weight,
            self.stopwords,
            max_texts=0,
        )
        self._dense = Dense(
            self.collection,
            depth,
            self.encoder,
            self.query_encoder,
            max_texts=0,
            options=self.options,
        )

    def bind(self, collection: str) -> None:
        self.collection = collection
        self._sparse.bind(collection)
        self._dense.bind(collection)

    @cached_property
    def _vector_candidates(self) -> int | None:
        """How many passages of the BM25 ranking are ranked by vector; None: the whole collection."""
        encoder = self._dense.encoder_model
        info = self.store.info()
        place = f"collection {redact(str(self.collection))}"
        if unknown := encoding.unknown_language(encoder, info, place):
            if info.encoder is not None:
                logger.warning("%s", unknown)
            return 0
        if info.vectors == info.count and info.encoder == encoding.named(encoder):
            return None
        if info.encoder is not None:
            logger.warning(
                "%s has vectors of %s for %d of its %d passages: the first %d by words are ranked by those of %s",
                place,
                label(info.encoder),
                info.vectors,
                info.count,
                self.candidates,
                label(encoding.named(encoder)),
            )
        return self.candidates

    def warm_up(self) -> None:
        """Open the collection, and load the encoder if it is used."""
        self._sparse.warm_up()
        if self._vector_candidates is None:
            self._dense.warm_up()

    def identity(self) -> Mapping[str, str]:
        return {} if self._vector_candidates == 0 else self._dense.identity()

    def search_rewritten(
        self,
        turns: Sequence[Turn],
        rewrites: Sequence[Rewrite],
        queries: Sequence[Query],
    ) -> Sequence[Ranking]:
        by_words = self._sparse.search(turns, queries)
        candidates = self._vector_candidates
        if candidates == 0:
            rankings = [Ranking(ranking.hits[: self.top_k]) for ranking in by_words]
            return self.attached(rankings, self.max_texts)
        if candidates is None:
            by_vector = self._dense.search_rewritten(turns, rewrites, queries)
        else:
            heads = [Ranking(ranking.hits[:candidates]) for ranking in by_words]
            by_vector = self._dense.rerank(turns, rewrites, queries, heads)
        rankings = [self._fused(sparse, dense) for sparse, dense in zip(by_words, by_vector, strict=True)]
        return self.attached(rankings, self.max_texts)

    def _fused(self, sparse: Ranking, dense: Ranking) -> Ranking:
        """Fuse the first passages of both, followed by the lower ones."""
        fused = self._fuse(
            Ranking(sparse.hits[:_FUSION_DEPTH]),
            Ranking(dense.hits[:_FUSION_DEPTH]),
            self.top_k,
        )
        missing = self.top_k - len(fused.hits)
        if not missing:
            return fused
        fused_ids = {hit.id for hit in fused.hits}
        deeper = self._fuse(sparse, dense, 2 * self.top_k)
        lower = [hit for hit in deeper.hits if hit.id not in fused_ids]
        return behind(fused, lower[:missing])

    def _fuse(
        self,
        sparse: Ranking,
        dense: Ranking,
        top_k: int,
    ) -> Ranking:
        parts = [(self.weights["sparse"], sparse), (self.weights["dense"], dense)]
        return FUSIONS[self.fusion](parts, top_k)
