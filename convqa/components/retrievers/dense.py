"""Vector search: the nearest passages to a query, in a collection with vectors of the same encoder."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cached_property

from pydantic import NonNegativeInt

from convqa.components import encoding
from convqa.components.base import Retriever
from convqa.components.encoding import Matrix, ModelOptions, QueryVectors
from convqa.components.filtering import by_filter
from convqa.components.members import member
from convqa.components.parameters import Count, Name
from convqa.domain import Hit, Query, Ranking, Rewrite, Turn
from convqa.models import TextEncoder
from convqa.models.types import Model
from convqa.stores.address import redact
from convqa.stores.base import Filter, Store, refuse_encoder

logger = logging.getLogger(__name__)


@member
class Dense(Retriever):
    """Rank passages by the cosine of their vectors and the query's.

    A query's vector is the normalized mean of the vectors of its words, of these with its history terms, and of the
    rewritten question (of the query's words if there are several queries). A query without words finds nothing. A
    turn's filter is applied. The collection must have vectors of the encoder: ``convqa index --vectors ENCODER``.

    Example::

        retriever: {type: dense, init_parameters: {encoder: encoder, top_k: 100}}

    :param top_k: passages in a ranking.
    :param encoder: a folder or a Hugging Face name; None = the one that made the collection's vectors,
        else that of its language: the shipped one, or ``multilingual`` if only that knows it and is installed.
    :param query_encoder: a model that encodes the question with its history, whose vector has three quarters of the
        weight where there is a history; it is used if it was trained for the encoder. None = none.
    :param max_texts: how many of the first hits have their passages.
    :param options: ``device`` and ``precision`` of the encoder.
    """

    needs_collection = True

    collection: str | None = None
    top_k: Count = 100
    encoder: Name | None = None
    query_encoder: Name | None = None
    max_texts: NonNegativeInt = 20
    options: ModelOptions | None = None

    @cached_property
    def _queries(self) -> QueryVectors:
        name = self.encoder or encoding.encoder_of(self.store)
        return QueryVectors(name, self.options, self.query_encoder)

    @property
    def encoder_model(self) -> TextEncoder:
        """The encoder of the passages."""
        return self._queries.model

    @cached_property
    def _vector_store(self) -> Store:
        """:raises InputError: if the collection has no vectors, or those of another encoder."""
        encoder = self._queries.model
        info = self.store.info()
        place = f"collection {redact(str(self.collection))}"
        refuse_encoder(encoding.named(encoder), info, place)
        if unknown := encoding.unknown_language(encoder, info, place, "rankings by its vectors are poor"):
            logger.warning("%s", unknown)
        if info.vectors < info.count:
            logger.warning(
                "%s has vectors of %d of its %d passages, and the others are not found by vector; convqa index "
                "--collection URL --vectors %s adds them",
                place,
                info.vectors,
                info.count,
                encoder.name,
            )
        return self.store

    def warm_up(self) -> None:
        _ = self._vector_store

    def models(self) -> Mapping[str, Model]:
        return self._queries.models()

    def search_rewritten(
        self,
        turns: Sequence[Turn],
        rewrites: Sequence[Rewrite],
        queries: Sequence[Query],
    ) -> Sequence[Ranking]:
        rankings = [Ranking()] * len(queries)
        indexes, vectors = self._encoded(turns, rewrites, queries)

        def search_filtered(rows: list[int], accepted: Filter) -> Sequence[Ranking]:
            encoder = encoding.named(self._queries.model)
            return self._vector_store.search_vectors(
                vectors[rows],
                self.top_k,
                encoder,
                self.max_texts,
                accepted,
            )

        asking = [turns[index] for index in indexes]
        for index, ranking in zip(indexes, by_filter(asking, search_filtered, self._vector_store), strict=True):
            rankings[index] = ranking
        return rankings

    def rerank(
        self,
        turns: Sequence[Turn],
        rewrites: Sequence[Rewrite],
        queries: Sequence[Query],
        rankings: Sequence[Ranking],
    ) -> Sequence[Ranking]:
        """Rank the passages of ``rankings[i]`` by their vectors. Missing vectors are made now."""
        reranked = [Ranking()] * len(queries)
        indexes, query_vectors = self._encoded(turns, rewrites, queries)
        vectors = encoding.passage_vectors(
            self._queries.model,
            self.store,
            rankings,
        )
        for index, query_vector in zip(indexes, query_vectors, strict=True):
            hits = [
                Hit(hit.id, float(vectors[hit.id] @ query_vector)) for hit in rankings[index].hits if hit.id in vectors
            ]
            reranked[index] = Ranking.of(hits)
        return reranked

    def _encoded(
        self,
        turns: Sequence[Turn],
        rewrites: Sequence[Rewrite],
        queries: Sequence[Query],
    ) -> tuple[Sequence[int], Matrix]:
        """Return the indexes of the queries with a text, and their vectors."""
        indexes, matrix = self._queries.encode(rewrites, queries)
        return indexes.tolist(), self._queries.with_histories([turns[index] for index in indexes], matrix)
