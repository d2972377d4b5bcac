"""BM25 search in the collection's store; the formula is in :mod:`convqa.text.bm25`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, NonNegativeInt

from convqa.components.base import Retriever
from convqa.components.filtering import by_filter
from convqa.components.members import member
from convqa.components.parameters import Count, Share
from convqa.domain import Query, Ranking, Turn
from convqa.stores.base import Filter, SearchParams, Stopwords

NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@member
class BM25(Retriever):
    """Rank passages by BM25 of question words and weighted history terms.

    Example::

        retriever: {type: bm25, init_parameters: {top_k: 100, stopwords: long}}

    :param top_k: passages in a ranking.
    :param k1, b: parameters of BM25; None = the store's, or .82 and .68.
    :param title_weight: None: title and text are one field; w >= 0: BM25(text) + w BM25(title).
    :param stopwords: ``long`` removes about 130 words from queries instead of 33, which is better for questions but not
        comparable with published BM25 runs.
    :param max_texts: how many of the first hits have their passages.
    """

    needs_collection = True

    collection: str | None = None
    top_k: Count = 100
    k1: NonNegative | None = None
    b: Share | None = None
    title_weight: NonNegative | None = None
    stopwords: Stopwords = "default"
    max_texts: NonNegativeInt = 20

    def warm_up(self) -> None:
        """Open the collection. :raises InputError: for a parameter that it does not support."""
        self.store.check(self._params({}))

    def search(
        self,
        turns: Sequence[Turn],
        queries: Sequence[Query],
    ) -> Sequence[Ranking]:
        def search_filtered(rows: list[int], accepted: Filter) -> Sequence[Ranking]:
            filtered = [queries[row] for row in rows]
            return self.store.search(
                filtered,
                self.top_k,
                self._params(accepted),
                self.max_texts,
            )

        return by_filter(turns, search_filtered, self.store)

    def _params(self, accepted: Filter) -> SearchParams:
        return SearchParams(
            self.k1,
            self.b,
            self.title_weight,
            self.stopwords,
            accepted or None,
        )
