"""The first hits in the order of the cosine between the query's vector and theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from convqa.components.encoding import (
    DEFAULT_TEXTS,
    ModelOptions,
    QueryEncoder,
    Texts,
    cosines,
    forecast,
    passage_vectors,
)
from convqa.components.members import member
from convqa.components.rerankers._reordering import Reordering
from convqa.domain import Ranking, Rewrite, Turn
from convqa.models import TextEncoder


@member
class Encoder(Reordering):
    """Reorder by vectors, at the cost of one query vector where the collection has those of the encoder.

    A passage that has none is encoded. A hit whose passage is not known stays behind the others. A rewrite with
    several queries counts each by its weight.

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

    def forecast(self, turns: int) -> str:
        return forecast(self._queries.model, turns * self.depth, self.collection) if self.collection else ""

    def scores(
        self, turns: Sequence[Turn], rewrites: Sequence[Rewrite], rankings: Sequence[Ranking]
    ) -> Sequence[Mapping[str, float]]:
        heads = [Ranking(ranking.hits[: self.depth]) for ranking in rankings]
        known = passage_vectors(self._queries.model, self._store, heads)
        asked = self._queries.of_rewrites(rewrites)
        return [
            {} if vector is None else cosines(head, known, vector) for head, vector in zip(heads, asked, strict=True)
        ]
