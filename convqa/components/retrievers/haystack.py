"""Any of Haystack's retrievers that takes a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from haystack import Document
from pydantic import Field

from convqa.components.base import Retriever
from convqa.components.encoding import expanded
from convqa.components.haystack import Concurrency, Wrapper, ranked, to_passage
from convqa.components.members import member
from convqa.domain import Hit, Query, Ranking, Turn
from convqa.errors import InputError
from convqa.stores.base import Filter


@member
class Haystack(Wrapper, Retriever):
    """Ask one of Haystack's retrievers for the documents of each query.

    It takes plain text: the words of the history terms follow the query's text, and their weights are lost. (Leaving
    them out was worse: MRR .436 against .537 on the bundled conversations, with BM25 and ``expansion``.) An empty query
    finds nothing. Every hit carries its passage, but for documents without text. A turn's filter goes to the component
    with the component's own; both must hold. One that takes no ``filters`` cannot answer such a turn.

    :param component: takes ``query``, gives ``documents``. Documents without scores, or not in the order of their
        scores, are scored by rank: 1 / (60 + rank).
    :param top_k: passages in a ranking; what the component's own ``top_k`` says does not count, if it can be asked.
    :param concurrency: turns whose component is called at the same time; 1 for a component that does not bear threads.
    """

    takes = ("query",)
    gives = "documents"
    items = Document

    component: Any
    top_k: Annotated[int, Field(ge=1)] = 100
    concurrency: Concurrency = 1

    def search(self, turns: Sequence[Turn], queries: Sequence[Query]) -> Sequence[Ranking]:
        return self._each_turn(self._rank, map(expanded, queries), turns)

    def _rank(self, text: str, turn: Turn) -> Ranking:
        if not text:
            return Ranking()
        filters = {"filters": self._filters(turn.filter)} if turn.filter else {}
        documents = self._ask(query=text, top_k=self.top_k, **filters)
        hits = [Hit(document.id, document.score or 0.0, to_passage(document)) for document in documents]
        found = ranked(hits, all(document.score is not None for document in documents))
        return Ranking(found.hits[: self.top_k])

    def _filters(self, filter: Filter) -> dict[str, Any]:
        """A filter as Haystack writes it. What a component is given takes the place of its own, which is added here."""
        if "filters" not in self._inputs:
            raise InputError(
                f"retriever: {type(self.wrapped).__name__} takes no filters; found a turn with the filter "
                f"{dict(filter)!r}. Wanted: a component that takes them, or the retriever bm25, dense or hybrid."
            )
        conditions = [
            {"field": f"meta.{name}", "operator": "in", "value": list(values)} for name, values in filter.items()
        ]
        own = getattr(self.wrapped, "filters", None)
        return {"operator": "AND", "conditions": [*conditions, *([own] if own else [])]}
