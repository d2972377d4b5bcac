"""Reranks the first hits by the similarity of their vectors to the query's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated

from pydantic import Field, NonNegativeInt

from convqa.components.base import Reranker
from convqa.components.encoding import ModelOptions, QueryVectors, encoder_of, passage_vectors
from convqa.components.members import member
from convqa.components.parameters import Count, Name
from convqa.components.rankings import reordered
from convqa.domain import Ranking, Rewrite, Turn
from convqa.models import TextEncoder


@member
class EncoderReranker(Reranker):
    """Rerank by the cosine of the passages' vectors and the query's.

    Passages without a vector in the collection are encoded for the turn. The ranking of a blank question is unchanged.

    Example::

        reranker: {type: encoder, init_parameters: {depth: 30, weight: 0.6}}

    :param depth: how many of the first hits are reranked; the others follow.
    :param top_k: passages in a ranking; None = all.
    :param weight: weight of the cosine; below 1, (1 - weight) x the old score is added, both normalized to 0 to 1. The
        default is the share of vectors in the retriever ``hybrid``.
    :param encoder, options: as in the retriever ``dense``.
    :param max_texts: how many of the first hits have their passages.
    """

    needs_collection = True

    collection: str | None = None
    depth: Count = 100
    top_k: Count | None = None
    weight: Annotated[float, Field(gt=0, le=1)] = 0.6
    encoder: Name | None = None
    max_texts: NonNegativeInt = 20
    options: ModelOptions | None = None

    @cached_property
    def _queries(self) -> QueryVectors:
        return QueryVectors(self.encoder or encoder_of(self.store), self.options)

    def models(self) -> Mapping[str, TextEncoder]:
        return {"encoder": self._queries.model}

    def rerank_batch(
        self,
        turns: Sequence[Turn],
        rewrites: Sequence[Rewrite],
        rankings: Sequence[Ranking],
    ) -> Sequence[Ranking]:
        queries = self._queries.of_rewrites(rewrites)
        heads = [Ranking(ranking.hits[: self.depth]) for ranking in rankings]
        vectors = passage_vectors(self._queries.model, self.store, heads)
        ordered = []
        for query, head, ranking in zip(queries, heads, rankings, strict=True):
            scores: dict[str, float] = {}
            if query is not None:
                scores = {hit.id: float(vectors[hit.id] @ query) for hit in head.hits if hit.id in vectors}
            ordered.append(
                reordered(
                    ranking,
                    scores,
                    self.weight,
                    self.top_k,
                )
            )
        return self.attached(ordered, self.max_texts)
