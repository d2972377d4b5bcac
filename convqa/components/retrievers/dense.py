"""Vector search: the nearest passages to a query, in a collection with vectors of the same encoder."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated

from pydantic import Field

from convqa.components import encoding
from convqa.components.base import Retriever
from convqa.components.encoding import Matrix, ModelOptions, QueryEncoder
from convqa.components.filtering import by_filter
from convqa.components.members import member
from convqa.domain import Hit, Query, Ranking, Rewrite, Turn
from convqa.models import TextEncoder
from convqa.stores.address import redact
from convqa.stores.base import Filter, Store, refuse_encoder

logger = logging.getLogger(__name__)


@member
class Dense(Retriever):
    """Rank passages by the cosine of their vectors and the query's.

    A query's vector is the normalized mean of the vectors of its words, of these with its history terms, and of the
    rewritten question (of the query's words if there are several queries). A query without words finds nothing. A
    turn's filter is applied. The collection must have vectors of the encoder: ``convqa index --vectors ENCODER``.

    :param top_k: passages in a ranking.
    :param encoder: a shipped one, a folder, a Hugging Face name or a server's URL; None = the one in the collection's
        file, or the shipped one.
    :param texts: how many of the first hits have their passages.
    :param options: ``device`` and ``precision`` of the encoder.
    """

    needs_collection = True

    collection: str | None = None
    top_k: Annotated[int, Field(ge=1)] = 100
    encoder: Annotated[str, Field(min_length=1)] | None = None
    texts: Annotated[int, Field(ge=0)] = 20
    options: ModelOptions | None = None

    def __post_init__(self) -> None:
        encoder = self.encoder or (lambda options: encoding.encoder_of(self.store, options))
        self._queries = QueryEncoder(encoder, self.options)

    @cached_property
    def _store(self) -> Store:
        """:raises InputError: if the collection has no vectors, or those of another encoder."""
        store = self.store
        info, place = store.info(), f"collection {redact(str(self.collection))}"
        refuse_encoder(encoding.named(self._queries.model), info, place)
        encoding.has_vectors_of(self._queries.model, store)
        if unknown := encoding.unknown_language(self._queries.model, info, place):
            logger.warning(
                "%s: rankings by its vectors are poor. Use the retriever bm25, or vectors of an encoder that knows it",
                unknown,
            )
        if info.vectors < info.count:
            logger.warning(
                "%s has vectors of %d of its %d passages, and the others are not found by vector; convqa index "
                "--collection URL --%s %s adds them",
                place, info.vectors, info.count, "sparse" if self._queries.model.sparse else "vectors",
                self._queries.model.name,
            )  # fmt: skip
        return store

    def warm_up(self) -> None:
        _ = self._store

    def models(self) -> Mapping[str, TextEncoder]:
        return {"encoder": self._queries.model}

    def search_rewritten(
        self, turns: Sequence[Turn], rewrites: Sequence[Rewrite], queries: Sequence[Query]
    ) -> Sequence[Ranking]:
        indexes, matrix = self._queries.encode(rewrites, queries)
        rankings = [Ranking()] * len(queries)
        asking = [turns[index] for index in indexes]
        found = by_filter(asking, lambda rows, accepted: self._search(matrix[rows], accepted))
        for index, ranking in zip(indexes, found, strict=True):
            rankings[index] = ranking
        return rankings

    def among(
        self, rewrites: Sequence[Rewrite], queries: Sequence[Query], rankings: Sequence[Ranking]
    ) -> Sequence[Ranking]:
        """Rank the passages of ``rankings[i]`` by their vectors. Missing vectors are made now."""
        indexes, matrix = self._queries.encode(rewrites, queries)
        vectors = encoding.passage_vectors(self._queries.model, self.store, rankings)
        near = [Ranking()] * len(queries)
        for index, vector in zip(indexes, matrix, strict=True):
            hits = [hit for hit in rankings[index].hits if hit.id in vectors]
            near[index] = Ranking.of([Hit(hit.id, float(vectors[hit.id] @ vector)) for hit in hits])
        return near

    def _search(self, matrix: Matrix, accepted: Filter) -> list[Ranking]:
        return self._store.search_vectors(matrix, self.top_k, encoding.named(self._queries.model), self.texts, accepted)
