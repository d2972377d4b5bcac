"""Wraps a ranker of Haystack."""

from __future__ import annotations

from collections.abc import Sequence

from haystack import Document

from convqa.components.base import Reranker
from convqa.components.haystack import Wrapper, ranked, to_document
from convqa.components.members import member
from convqa.components.parameters import Count
from convqa.components.rankings import behind
from convqa.domain import Hit, Ranking, Rewrite, Turn


@member
class HaystackReranker(Wrapper, Reranker):
    """Rerank the hits with passages with a ranker of Haystack and the rewritten question.

    Hits that it omits, and those without passages, follow in their old order. The ranking of a blank question is
    unchanged.

    Example::

        reranker = HaystackReranker(MetaFieldRanker("year"), top_k=20)

    :param component: has the input ``documents``, optionally ``query``, and the output ``documents``. If their scores
        are unordered, rank r scores 1 / (60 + r).
    :param top_k: passages in a ranking; None = all.
    """

    takes = ("documents",)
    may_take = ("query",)
    gives = "documents"
    items = Document

    top_k: Count | None = None

    def rerank_batch(
        self,
        turns: Sequence[Turn],
        rewrites: Sequence[Rewrite],
        rankings: Sequence[Ranking],
    ) -> Sequence[Ranking]:
        return self._each_turn(
            self.rerank,
            turns,
            rewrites,
            rankings,
        )

    def rerank(
        self,
        turn: Turn,
        rewrite: Rewrite,
        ranking: Ranking,
    ) -> Ranking:
        hits = {hit.id: hit for hit in ranking.hits if hit.passage is not None}
        if rewrite.text.strip() and hits:
            ranking = self._ordered(rewrite.text, ranking, hits)
        return Ranking(ranking.hits[: self.top_k])

    def _ordered(
        self,
        question: str,
        ranking: Ranking,
        hits: dict[str, Hit],
    ) -> Ranking:
        documents = self._ask(query=question, documents=[to_document(hit) for hit in hits.values()])
        unknown = sorted({document.id for document in documents} - hits.keys())
        if unknown:
            raise ValueError(f"{type(self.wrapped).__name__} returned unknown documents: {unknown}")
        scored = [Hit(document.id, document.score or 0.0, hits[document.id].passage) for document in documents]
        ordered = ranked(scored, all(document.score is not None for document in documents))
        ordered_ids = {hit.id for hit in ordered.hits}
        return behind(ordered, [hit for hit in ranking.hits if hit.id not in ordered_ids])
