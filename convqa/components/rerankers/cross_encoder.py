"""Reranks the first hits with a model that reads question and passage together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from pydantic import NonNegativeInt

from convqa.components.base import Reranker
from convqa.components.encoding import ModelOptions
from convqa.components.members import member
from convqa.components.parameters import Count, Name
from convqa.components.rankings import reordered
from convqa.domain import Ranking, Rewrite, Turn
from convqa.models import Options, PairScorer, load_pair_scorer


@member
class CrossEncoder(Reranker):
    """Rerank by a cross-encoder's score of (rewritten question, passage). Requires the extra ``models``.

    A model with six layers scores a few hundred passages a second on two cores. The ranking of a blank question is
    unchanged, and hits without a passage follow the others.

    Example::

        reranker: {type: cross_encoder, init_parameters: {model: cross-encoder/ms-marco-MiniLM-L6-v2, depth: 50}}

    :param model: a folder or a Hugging Face name, such as ``cross-encoder/ms-marco-MiniLM-L6-v2``.
    :param depth: how many of the first hits are reranked; the others follow.
    :param top_k: passages in a ranking; None = all.
    :param max_texts: how many of the first hits have their passages.
    :param options: ``device`` and ``precision`` of the model.
    """

    model: Name
    collection: str | None = None
    depth: Count = 100
    top_k: Count | None = None
    max_texts: NonNegativeInt = 20
    options: ModelOptions | None = None

    @cached_property
    def _scorer(self) -> PairScorer:
        return load_pair_scorer(self.model, Options(**(self.options or {})))

    def models(self) -> Mapping[str, PairScorer]:
        return {"cross-encoder": self._scorer}

    def rerank_batch(
        self,
        turns: Sequence[Turn],
        rewrites: Sequence[Rewrite],
        rankings: Sequence[Ranking],
    ) -> Sequence[Ranking]:
        heads = self.attached([Ranking(ranking.hits[: self.depth]) for ranking in rankings], self.depth)
        pairs = [_pairs(rewrite, head) for rewrite, head in zip(rewrites, heads, strict=True)]
        distinct = list(dict.fromkeys(pair for by_id in pairs for pair in by_id.values()))
        score_of = dict(zip(distinct, self._scorer.score(distinct), strict=True))
        ordered = []
        for ranking, by_id in zip(rankings, pairs, strict=True):
            scores = {id: float(score_of[pair]) for id, pair in by_id.items()}
            ordered.append(reordered(ranking, scores, top_k=self.top_k))
        return self.attached(ordered, self.max_texts)


def _pairs(rewrite: Rewrite, head: Ranking) -> dict[str, tuple[str, str]]:
    """Return the model's input for each hit with a passage."""
    question = rewrite.text.strip()
    if not question:
        return {}
    return {passage.id: (question, passage.whole_text) for passage in head.passages()}
