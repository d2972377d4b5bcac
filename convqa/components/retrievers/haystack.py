"""Wraps a retriever of Haystack that takes a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from haystack import Document
from pydantic import Field

from convqa.components.base import Retriever
from convqa.components.encoding import expanded
from convqa.components.haystack import Wrapper, ranked, to_passage
from convqa.components.members import member
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

    :param component: has the input ``query`` and the output ``documents``. Documents without scores, or with unordered
        scores, are scored by rank: 1 / (60 + rank).
    :param top_k: passages in a ranking; overrides the component's own ``top_k`` if it has that input.
    """

    takes = ("query",)
    gives = "documents"
    items = Document

    top_k: Annotated[int, Field(ge=1)] = 100

    def search(self, turns: Sequence[Turn], queries: Sequence[Query]) -> Sequence[Ranking]:
        return self._each_turn(self._rank, map(expanded, queries), turns)

    def _rank(self, text: str, turn: Turn) -> Ranking:
        if not text:
            return Ranking()
        filters = {"filters": self._filters(turn.filter)} if turn.filter else {}
        documents = self._ask(query=text, top_k=self.top_k, **filters)
        hits = [Hit(document.id, document.score or 0.0, to_passage(document)) for document in documents]
        ranking = ranked(hits, all(document.score is not None for document in documents))
        return Ranking(ranking.hits[: self.top_k])

    def _filters(self, filter: Filter) -> dict[str, Any]:
        """Return a filter in Haystack's form, with the component's own, which it would replace."""
        if "filters" not in self._inputs:
            raise InputError(
                f"retriever: {type(self.wrapped).__name__} takes no filters, but a turn has the filter "
                f"{dict(filter)!r}. Use a component that takes them, or the retriever bm25, dense or hybrid."
            )
        conditions = [
            {"field": f"meta.{name}", "operator": "in", "value": list(values)} for name, values in filter.items()
        ]
        own = getattr(self.wrapped, "filters", None)
        return {"operator": "AND", "conditions": [*conditions, *([own] if own else [])]}
