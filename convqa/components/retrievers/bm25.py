"""BM25 search in the collection's store; the formula is in :mod:`convqa.text.bm25`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from convqa.components.base import Retriever
from convqa.components.filtering import both, by_filter
from convqa.components.members import member
from convqa.components.retrievers._feedback import Prf, expand
from convqa.domain import MetaValue, Query, Ranking, Turn
from convqa.stores.base import Filter, SearchParams, Stopwords


@with_config(ConfigDict(strict=True, extra="forbid"))
class Feedback(TypedDict, total=False):
    """Pseudo-relevance feedback (RM3), with the defaults of :class:`Prf`."""

    passages: Annotated[int, Field(ge=1)]
    terms: Annotated[int, Field(ge=1)]
    weight: Annotated[float, Field(ge=0, le=1)]


@member
class BM25(Retriever):
    """Rank passages by BM25 of question words and weighted history terms.

    :param top_k: passages in a ranking. :param k1, b: parameters of BM25; None = the store's, or .82 and .68.
    :param title_weight: None: title and text are one field; w >= 0: BM25(text) + w BM25(title).
    :param stopwords: ``long`` removes about 130 words from queries instead of 33, which is better for questions but not
        comparable with published BM25 runs.
    :param texts: how many of the first hits have their passages.
    :param filter: meta field -> accepted values, in addition to the filter of a turn.
    :param prf: RM3 feedback: mix the query, with ``weight`` (.5), with the ``terms`` (10) best words of the first
        ``passages`` (10); ``{}`` is feedback with these defaults
        (:mod:`convqa.components.retrievers._feedback`).
    """

    needs_collection = True

    collection: str | None = None
    top_k: Annotated[int, Field(ge=1)] = 100
    k1: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    b: Annotated[float, Field(ge=0, le=1)] | None = None
    title_weight: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    stopwords: Stopwords = "default"
    texts: Annotated[int, Field(ge=0)] = 20
    filter: dict[str, list[MetaValue]] | None = None
    prf: Feedback | None = None

    def warm_up(self) -> None:
        """Open the collection. :raises InputError: for a parameter that it does not support."""
        self.store.check(self._params({}))

    def search(self, turns: Sequence[Turn], queries: Sequence[Query]) -> Sequence[Ranking]:
        return by_filter(turns, lambda rows, accepted: self._search([queries[row] for row in rows], accepted))

    def _search(self, queries: Sequence[Query], accepted: Filter) -> Sequence[Ranking]:
        params = self._params(accepted)
        if self.prf is not None:
            prf, language = Prf(**self.prf), self.store.info().language
            first = self.store.search(queries, prf.passages, params, prf.passages)
            rows = zip(queries, first, strict=True)
            queries = [expand(query, ranking, prf, language, self.stopwords) for query, ranking in rows]
        return self.store.search(queries, self.top_k, params, self.texts)

    def _params(self, accepted: Filter) -> SearchParams:
        own = {name: tuple(values) for name, values in (self.filter or {}).items()}
        return SearchParams(self.k1, self.b, self.title_weight, self.stopwords, both(own, accepted) or None)
