"""Nearest passages to the vector of a query, over a collection that has vectors of the same encoder."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated

import numpy as np
from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from convqa.components.base import Retriever
from convqa.components.encoding import (
    DEFAULT_TEXTS,
    Matrix,
    ModelOptions,
    QueryEncoder,
    Texts,
    cosines,
    encoder_of,
    has_vectors_of,
    passage_vectors,
    unit,
    unknown_language,
)
from convqa.components.filtering import by_filter
from convqa.components.members import member
from convqa.components.retrievers._feedback import rocchio
from convqa.domain import Hit, Passage, Query, Ranking, Rewrite, Turn
from convqa.models import TextEncoder
from convqa.stores import open_store
from convqa.stores.address import redact
from convqa.stores.base import Filter, Store, refuse_encoder

logger = logging.getLogger(__name__)


@with_config(ConfigDict(strict=True, extra="forbid"))
class VectorFeedback(TypedDict, total=False):
    """Feedback of vectors; what is left out is 3 ``passages`` and a ``weight`` of .5 for the query itself."""

    passages: Annotated[int, Field(ge=1)]
    weight: Annotated[float, Field(ge=0, le=1)]


@member
class Dense(Retriever):
    """Rank passages by the inner product of their vectors with that of the query (cosine, as all have length 1).

    A query's vector is the mean of those of the texts that ``vectors`` names, at length 1: ``question`` (the query's
    words), ``expanded`` (these and its history terms), ``rewrite`` (the rewritten question; of a rewrite with several
    queries each stands for itself, and this is its words again). A query without words finds nothing. A turn's filter
    is kept to. The collection must have vectors of the encoder: ``convqa index --vectors ENCODER``.

    :param top_k: passages in a ranking.
    :param encoder: a shipped one, a folder, a Hugging Face name or a server's address; None = that of the collection's
        file, else the one that ships.
    :param vectors: which texts of a query are encoded.
    :param prf: vector feedback: search again with weight (.5) x query + (1 - weight) x mean of the first
        ``passages`` (3) passages; ``{}`` is feedback with these defaults.
    :param texts: how many top hits carry their passage for the stations behind.
    :param options: ``device``, ``precision`` and ``engine`` of the encoder.
    """

    needs_collection = True

    collection: str | None = None
    top_k: Annotated[int, Field(ge=1)] = 100
    encoder: Annotated[str, Field(min_length=1)] | None = None
    vectors: Texts = Field(default_factory=lambda: [*DEFAULT_TEXTS])
    prf: VectorFeedback | None = None
    texts: Annotated[int, Field(ge=0)] = 20
    options: ModelOptions | None = None

    def __post_init__(self) -> None:
        encoder = self.encoder or (lambda options: encoder_of(self._opened, options))
        self._queries = QueryEncoder(encoder, self.vectors, self.options)

    @cached_property
    def _opened(self) -> Store:
        return open_store(self.collection)

    @cached_property
    def _store(self) -> Store:
        """:raises InputError: if the collection has no vectors, or those of another encoder."""
        store = self._opened
        info, place = store.info(), f"collection {redact(str(self.collection))}"
        refuse_encoder(self._queries.encoder, info, place)
        has_vectors_of(self._queries.model, store)
        if unknown := unknown_language(self._queries.model, info, place):
            logger.warning(
                "%s: rankings by its vectors are poor. Use the retriever bm25, or vectors of an encoder that knows it",
                unknown,
            )
        if info.vectors < info.count:
            logger.warning(
                "%s has vectors of %d of its %d passages, and the others are not found by vector; convqa index "
                "--collection URL --vectors %s adds them",
                place, info.vectors, info.count, self._queries.model.name,
            )  # fmt: skip
        return store

    def warm_up(self) -> None:
        _ = self._store

    def models(self) -> Mapping[str, TextEncoder]:
        return {"encoder": self._queries.model}

    def search_rewritten(
        self, turns: Sequence[Turn], rewrites: Sequence[Rewrite], queries: Sequence[Query]
    ) -> Sequence[Ranking]:
        places, matrix = self._queries.encode(rewrites, queries)
        rankings = [Ranking()] * len(queries)
        asking = [turns[place] for place in places]
        found = by_filter(asking, lambda rows, accepted: self._search(matrix[rows], accepted))
        for place, ranking in zip(places, found, strict=True):
            rankings[place] = ranking
        return rankings

    def among(
        self, rewrites: Sequence[Rewrite], queries: Sequence[Query], rankings: Sequence[Ranking]
    ) -> Sequence[Ranking]:
        """The passages of ``rankings[i]`` by their vectors; those that the collection lacks are made now."""
        places, matrix = self._queries.encode(rewrites, queries)
        vectors = passage_vectors(self._queries.model, self._opened, rankings)

        def ranked(matrix: Matrix) -> list[Ranking]:
            near = [Ranking()] * len(queries)
            for place, vector in zip(places, matrix, strict=True):
                found = cosines(rankings[place], vectors, vector)
                near[place] = Ranking.of([Hit(id, score) for id, score in found.items()])
            return near

        first = ranked(matrix)
        return (
            first if self.prf is None else ranked(self._fed_back(matrix, [first[place] for place in places], vectors))
        )

    def fetch(self, ids: Sequence[str]) -> Sequence[Passage | None]:
        return self._store.fetch(ids)

    def _search(self, matrix: Matrix, accepted: Filter) -> list[Ranking]:
        encoder = self._queries.encoder
        if self.prf is not None:
            first = self._store.search_vectors(matrix, self.prf.get("passages", 3), encoder, 0, accepted)
            matrix = self._fed_back(matrix, first, passage_vectors(self._queries.model, self._store, first))
        return self._store.search_vectors(matrix, self.top_k, encoder, self.texts, accepted)

    def _fed_back(self, matrix: Matrix, first: Sequence[Ranking], vectors: Mapping[str, Matrix]) -> Matrix:
        """The queries' vectors, with those of the first passages that they found."""
        prf = self.prf or {}
        heads = [ranking.hits[: prf.get("passages", 3)] for ranking in first]
        given = [np.array([vectors[hit.id] for hit in hits], np.float32) for hits in heads]
        return unit(rocchio(matrix, given, prf.get("weight", 0.5)))
