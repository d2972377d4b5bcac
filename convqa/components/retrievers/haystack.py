"""Wraps a retriever of Haystack that takes a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from haystack import Document

from convqa.components.base import Retriever
from convqa.components.encoding import expanded
from convqa.components.haystack import Wrapper, ranked, to_passage
from convqa.components.members import member
from convqa.components.parameters import Count
from convqa.domain import Hit, Query, Ranking, Turn
from convqa.errors import InputError
from convqa.stores.base import Filter


@member
class HaystackRetriever(Wrapper, Retriever):
    """Search each query with a retriever of Haystack.

    The query is plain text: the words of the history terms follow the query's text, without their weights. (Without
    them, MRR was .436 instead of .537 on the bundled conversations, with BM25 and ``expansion``.) An empty query finds
    nothing. Every hit has its passage, except documents without text. A turn's filter is combined with the component's
    own; a component without the input ``filters`` cannot answer such a turn.

    Example::

        retriever = HaystackRetriever(InMemoryBM25Retriever(document_store), top_k=10)

    :param component: has the input ``query`` and the output ``documents``. Documents without scores, or with unordered
        scores, are scored by rank: 1 / (60 + rank).
    :param top_k: passages in a ranking; overrides the component's own ``top_k`` if it has that input.
    """

    takes = ("query",)
    gives = "documents"
    items = Document

    top_k: Count = 100

    def search(self, turns: Sequence[Turn], queries: Sequence[Query]) -> Sequence[Ranking]:
        return self._each_turn(self._rank, map(expanded, queries), turns)

    def _rank(self, text: str, turn: Turn) -> Ranking:
        if not text:
            return Ranking()
        sockets: dict[str, Any] = {"query": text, "top_k": self.top_k}
        if turn.filter:
            sockets["filters"] = self._filters(turn.filter)
        documents = self._ask(**sockets)
        hits = [Hit(document.id, document.score or 0.0, to_passage(document)) for document in documents]
        is_scored = all(document.score is not None for document in documents)
        ranking = ranked(hits, is_scored)
        return Ranking(ranking.hits[: self.top_k])

    def _filters(self, filter: Filter) -> dict[str, Any]:
        """Return a filter in Haystack's form, with the component's own, which it would replace."""
        if "filters" not in self._inputs:
            raise InputError(
                f"retriever: {type(self.wrapped).__name__} takes no filters, but a turn has the filter "
                f"{dict(filter)!r}. Use a component that takes them, or the retriever bm25, dense or hybrid."
            )
        conditions: list[Any] = []
        for name, values in filter.items():
            conditions.append({"field": f"meta.{name}", "operator": "in", "value": list(values)})
        own = getattr(self.wrapped, "filters", None)
        if own:
            conditions.append(own)
        return {"operator": "AND", "conditions": conditions}
