"""Reranks the first hits with a model that reads question and passage together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated

from pydantic import Field

from convqa.components.base import Reranker
from convqa.components.encoding import ModelOptions
from convqa.components.members import member
from convqa.components.rankings import reordered
from convqa.domain import Ranking, Rewrite, Turn
from convqa.models import Options, PairScorer, load_pair_scorer


@member
class CrossEncoder(Reranker):
    """Rerank by a cross-encoder's score of (rewritten question, passage). Requires the extra ``models``.

    A model with six layers scores a few hundred passages a second on two cores. The ranking of a blank question is
    unchanged, and hits without a passage follow the others.

    :param model: a folder or a Hugging Face name, such as ``cross-encoder/ms-marco-MiniLM-L6-v2``.
    :param depth: how many of the first hits are reranked; the others follow.
    :param top_k: passages in a ranking; None = all.
    :param texts: how many of the first hits have their passages.
    :param options: ``device`` and ``precision`` of the model.
    """

    model: Annotated[str, Field(min_length=1)]
    collection: str | None = None
    depth: Annotated[int, Field(ge=1)] = 100
    top_k: Annotated[int, Field(ge=1)] | None = None
    texts: Annotated[int, Field(ge=0)] = 20
    options: ModelOptions | None = None

    @cached_property
    def _scorer(self) -> PairScorer:
        return load_pair_scorer(self.model, Options(**(self.options or {})))

    def models(self) -> Mapping[str, PairScorer]:
        return {"cross-encoder": self._scorer}

    def rerank_batch(
        self, turns: Sequence[Turn], rewrites: Sequence[Rewrite], rankings: Sequence[Ranking]
    ) -> Sequence[Ranking]:
        heads = self.attached([Ranking(ranking.hits[: self.depth]) for ranking in rankings], self.depth)
        pairs = [_pairs(*row) for row in zip(rewrites, heads, strict=True)]
        distinct = list(dict.fromkeys(pair for some in pairs for pair in some.values()))
        score_by_pair = dict(zip(distinct, map(float, self._scorer.score(distinct)), strict=True))
        scores = [{id: score_by_pair[pair] for id, pair in some.items()} for some in pairs]
        ordered = [reordered(*row, top_k=self.top_k) for row in zip(rankings, scores, strict=True)]
        return self.attached(ordered, self.texts)


def _pairs(rewrite: Rewrite, head: Ranking) -> dict[str, tuple[str, str]]:
    """Return the model's input for each hit with a passage."""
    question = rewrite.text.strip()
    return {hit.id: (question, hit.passage.whole_text) for hit in head.hits if question and hit.passage is not None}
