"""Words and vectors together: BM25's ranking and that of the query's vector, made one."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from convqa.components.base import Retriever, WantedVectors
from convqa.components.encoding import DEFAULT_TEXTS, ModelOptions, Texts, unknown_language
from convqa.components.members import member
from convqa.components.rankings import FUSIONS, attach, behind
from convqa.components.retrievers.bm25 import BM25, Feedback
from convqa.components.retrievers.dense import Dense, VectorFeedback
from convqa.domain import Passage, Query, Ranking, Rewrite, Turn
from convqa.stores import open_store
from convqa.stores.address import redact
from convqa.stores.base import Stopwords
from convqa.text.bm25 import K1, B

logger = logging.getLogger(__name__)


@with_config(ConfigDict(strict=True, extra="forbid"))
class Weights(TypedDict, total=False):
    """What each ranking counts; what is left out keeps its default."""

    sparse: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    dense: Annotated[float, Field(gt=0, allow_inf_nan=False)]


_WEIGHTS: Weights = {"sparse": 1.0, "dense": 1.5}
"""Chosen on half of inscit and mtrag, with the fusion (docs/benchmarks.md)."""


_DEPTH = 100
"""The same at every ``top_k``, as scores are brought to 0 to 1 by the last passage that is fused."""


@with_config(ConfigDict(strict=True, extra="forbid"))
class Depths(TypedDict, total=False):
    """How many passages of each ranking are fused."""

    sparse: Annotated[int, Field(ge=1)]
    dense: Annotated[int, Field(ge=1)]


@with_config(ConfigDict(strict=True, extra="forbid"))
class BothFeedbacks(TypedDict, total=False):
    """Feedback of either ranking, as its own retriever takes it."""

    sparse: Feedback
    dense: VectorFeedback


@member
class Hybrid(Retriever):
    """Fuse two rankings of each query: ``sparse``, by BM25, and ``dense``, by vector.

    The same as the retrievers ``bm25`` and ``dense`` with a joiner behind them, in one node, so that it can take the
    place of any retriever. The collection must have vectors of the encoder: ``convqa index --vectors ENCODER``.

    :param top_k: passages in a ranking: a shorter one is the beginning of a longer one.
    :param fusion: ``interpolation``: sum of weight x score, each ranking's scores brought to 0 to 1 first; ``rrf``:
        sum of weight / (60 + rank).
    :param weights: of the rankings: 1 for ``sparse``, 1.5 for ``dense``.
    :param depth: how many passages of each ranking are fused. By default 100; where these give fewer than ``top_k``,
        those further down (to ``top_k``) are fused in the same way and follow.
    :param encoder, vectors: as of ``dense``. :param k1, b, title_weight: as of ``bm25``.
    :param stopwords: as of ``bm25``, but that the long list is the default.
    :param prf: feedback of each ranking: ``{sparse: {...}, dense: {...}}`` as of ``bm25`` and ``dense``.
    :param without_vectors: what is done with a collection that has no vectors: ``refuse`` it, or rank by words alone
        (``sparse``), which is said once; so is a collection with vectors whose language the encoder does not know.
    :param texts: how many top hits carry their passage for the stations behind.
    :param options: ``device``, ``precision`` and ``engine`` of the encoder.
    """

    needs_collection = True

    collection: str | None = None
    top_k: Annotated[int, Field(ge=1)] = 100
    fusion: Literal["rrf", "interpolation"] = "interpolation"
    weights: Weights = Field(default_factory=Weights)
    depth: Depths | None = None
    encoder: Annotated[str, Field(min_length=1)] = "encoder"
    vectors: Texts = Field(default_factory=lambda: [*DEFAULT_TEXTS])
    k1: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = K1
    b: Annotated[float, Field(ge=0, le=1)] | None = B
    title_weight: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    stopwords: Stopwords = "long"
    prf: BothFeedbacks | None = None
    without_vectors: Literal["refuse", "sparse"] = "refuse"
    texts: Annotated[int, Field(ge=0)] = 20
    options: ModelOptions | None = None

    def __post_init__(self) -> None:
        self.weights = {**_WEIGHTS, **self.weights}
        depths, feedback, most = self.depth or {}, self.prf or {}, max(self.top_k, _DEPTH)
        self._sparse = BM25(
            self.collection, depths.get("sparse", most), self.k1, self.b, self.title_weight, self.stopwords,
            texts=0, prf=feedback.get("sparse"),
        )  # fmt: skip
        self._dense = Dense(
            self.collection, depths.get("dense", most), self.encoder, self.vectors, feedback.get("dense"),
            texts=0, options=self.options,
        )  # fmt: skip

    def bind(self, collection: str) -> None:
        self.collection = self._sparse.collection = self._dense.collection = collection

    @cached_property
    def _by_words(self) -> bool:
        """Whether words alone will do, and there are no vectors, or none of an encoder that knows the language."""
        if self.without_vectors == "refuse":
            return False
        info, place = open_store(self.collection).info(), redact(str(self.collection))
        unknown = unknown_language(self._dense.models()["encoder"], info, f"collection {place}")
        if info.encoder is not None and not unknown:
            return False
        if info.encoder is not None:
            logger.warning("%s: its passages are ranked by words alone, and its vectors are left aside", unknown)
        elif not unknown:
            logger.warning(
                "collection %s has no vectors: its passages are ranked by words alone. For better rankings: "
                "convqa index --collection %s --vectors %s", place, place, self.encoder,
            )  # fmt: skip
        return True

    def warm_up(self) -> None:
        """Open the collection, and load the encoder where there are vectors."""
        self._sparse.warm_up()
        if not self._by_words:
            self._dense.warm_up()

    def wanted_vectors(self) -> WantedVectors:
        return self._dense.wanted_vectors()._replace(needed=self.without_vectors == "refuse")

    def identity(self) -> Mapping[str, str]:
        return {} if self._by_words else self._dense.identity()

    def search_rewritten(
        self, turns: Sequence[Turn], rewrites: Sequence[Rewrite], queries: Sequence[Query]
    ) -> Sequence[Ranking]:
        sparse = self._sparse.search(turns, queries)
        if self._by_words:
            return attach([Ranking(ranking.hits[: self.top_k]) for ranking in sparse], self.texts, self.fetch)
        dense = self._dense.search_rewritten(turns, rewrites, queries)
        return attach([self._fused(*both) for both in zip(sparse, dense, strict=True)], self.texts, self.fetch)

    def _fused(self, sparse: Ranking, dense: Ranking) -> Ranking:
        """One ranking of the first passages of both, and those further down behind it."""
        fuse, depths = FUSIONS[self.fusion], self.depth or {}
        weights = self.weights["sparse"], self.weights["dense"]
        first = Ranking(sparse.hits[: depths.get("sparse", _DEPTH)]), Ranking(dense.hits[: depths.get("dense", _DEPTH)])
        fused = fuse(list(zip(weights, first, strict=True)), self.top_k)
        if len(fused.hits) == self.top_k:
            return fused
        known = {hit.id for hit in fused.hits}
        deeper = fuse(list(zip(weights, (sparse, dense), strict=True)), 2 * self.top_k)
        return behind(fused, [hit for hit in deeper.hits if hit.id not in known][: self.top_k - len(known)])

    def fetch(self, ids: Sequence[str]) -> Sequence[Passage | None]:
        return self._sparse.fetch(ids)
