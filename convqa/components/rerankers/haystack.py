"""Any of Haystack's rankers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from haystack import Document
from pydantic import Field

from convqa.components.base import Reranker
from convqa.components.haystack import Concurrency, Wrapper, ranked, to_document
from convqa.components.members import member
from convqa.components.rankings import behind
from convqa.domain import Hit, Ranking, Rewrite, Turn


@member
class Haystack(Wrapper, Reranker):
    """Let one of Haystack's rankers order the hits whose passages are there.

    It is asked with the rewritten question. What it leaves out, and hits without their passages, stay behind what it
    gives, in the order in which they were. Without a question, a ranking stays as it is.

    :param component: takes ``documents`` and, if it likes, ``query``; gives ``documents``. If they are not in the order
        of their scores, their order counts, and rank r scores 1 / (60 + r).
    :param top_k: passages in a ranking; None = as many as there were.
    :param concurrency: turns whose component is called at the same time; 1 for a component that does not bear threads.
    """

    takes = ("documents",)
    may_take = ("query",)
    gives = "documents"
    items = Document

    component: Any
    top_k: Annotated[int, Field(ge=1)] | None = None
    concurrency: Concurrency = 1

    def rerank_batch(
        self, turns: Sequence[Turn], rewrites: Sequence[Rewrite], rankings: Sequence[Ranking]
    ) -> Sequence[Ranking]:
        return self._each_turn(self.rerank, turns, rewrites, rankings)

    def rerank(self, turn: Turn, rewrite: Rewrite, ranking: Ranking) -> Ranking:
        given = {hit.id: hit for hit in ranking.hits if hit.passage is not None}
        if rewrite.text.strip() and given:
            ranking = self._ordered(rewrite.text, ranking, given)
        return Ranking(ranking.hits[: self.top_k])

    def _ordered(self, question: str, ranking: Ranking, given: dict[str, Hit]) -> Ranking:
        documents = self._ask(query=question, documents=[to_document(hit) for hit in given.values()])
        if strangers := sorted({document.id for document in documents} - given.keys()):
            raise ValueError(f"{type(self.wrapped).__name__} gave documents that it was not given: {strangers}")
        hits = [Hit(document.id, document.score or 0.0, given[document.id].passage) for document in documents]
        ordered = ranked(hits, all(document.score is not None for document in documents))
        taken = {hit.id for hit in ordered.hits}
        return behind(ordered, [hit for hit in ranking.hits if hit.id not in taken])
