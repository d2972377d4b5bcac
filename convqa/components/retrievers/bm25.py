"""BM25 search in the collection's store; the formula is in :mod:`convqa.text.bm25`."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from convqa.components.base import Retriever
from convqa.components.filtering import both, by_filter
from convqa.components.members import member
from convqa.domain import MetaValue, Query, Ranking, Turn
from convqa.stores.base import Filter, SearchParams, Stopwords
from convqa.text.analysis import analyzer, weigh
from convqa.text.cache import remembered
from convqa.text.idf import idf


@with_config(ConfigDict(strict=True, extra="forbid"))
class Feedback(TypedDict, total=False):
    """Pseudo-relevance feedback, as in Anserini's Rm3Reranker (RM3: Abdul-Jaleel et al., TREC 2004).

    The ``terms`` most frequent tokens of each of the first ``passages``, as shares of their sum, are weighted by the
    passage's score and summed. The ``terms`` best, normalized to a sum of 1, are mixed with the query's own words,
    whose weight is ``weight``. Unlike Anserini, it excludes words that are too common in convqa's own idf table (more
    than a tenth of its texts), not in the collection, and the stop words of the long list.
    """

    passages: Annotated[int, Field(ge=1)]
    terms: Annotated[int, Field(ge=1)]
    weight: Annotated[float, Field(ge=0, le=1)]


_DEFAULT = Feedback(passages=10, terms=10, weight=0.5)


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
        ``passages`` (10); ``{}`` is feedback with these defaults (:class:`Feedback`).
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
            prf, language = Feedback(**{**_DEFAULT, **self.prf}), self.store.info().language
            first = self.store.search(queries, prf["passages"], params, prf["passages"])
            rows = zip(queries, first, strict=True)
            queries = [expand(query, ranking, prf, language, self.stopwords) for query, ranking in rows]
        return self.store.search(queries, self.top_k, params, self.texts)

    def _params(self, accepted: Filter) -> SearchParams:
        own = {name: tuple(values) for name, values in (self.filter or {}).items()}
        return SearchParams(self.k1, self.b, self.title_weight, self.stopwords, both(own, accepted) or None)


_TOO_COMMON = math.log(10)
_TERM = re.compile(r"\w{2,20}")


def expand(query: Query, ranking: Ranking, prf: Feedback, language: str, stopwords: Stopwords = "default") -> Query:
    """Return the query with its own words and weights and proportionally weighted feedback terms.

    :param ranking: the query's ranking, with the passages of its first ``passages`` hits.
    """
    own = weigh(query, analyzer(language), stopwords)
    model = relevance_model(ranking, prf, language)
    if not own or not model or prf["weight"] == 1:
        return query
    if prf["weight"] == 0:
        return Query("", tuple(model.items()), query.weight)
    # weight x own / |own| + (1 - weight) x model, times |own| / weight: this keeps the order and the query's weights.
    share = (1 - prf["weight"]) / prf["weight"] * sum(own.values())
    return Query(query.text, (*query.terms, *((word, share * part) for word, part in model.items())), query.weight)


def relevance_model(ranking: Ranking, prf: Feedback, language: str) -> Mapping[str, float]:
    """Return the probabilities of the ``terms`` best words; a word represents all words with its stem."""
    weights: dict[str, float] = {}
    written: dict[str, str] = {}
    for hit in ranking.hits[: prf["passages"]]:
        counted = {} if hit.passage is None else _counted(hit.passage.whole_text, language)
        frequent = sorted(counted, key=lambda token: (-counted[token][0], token))[: prf["terms"]]
        total = sum(counted[token][0] for token in frequent)
        for token in frequent:
            count, word = counted[token]
            weights[token] = weights.get(token, 0.0) + count / total * hit.score
            written.setdefault(token, word)
    best = sorted(weights, key=lambda token: (-weights[token], token))[: prf["terms"]]
    whole = sum(weights[token] for token in best)
    return {written[token]: weights[token] / whole for token in best} if whole > 0 else {}


@remembered(4096)
def _counted(text: str, language: str) -> Mapping[str, tuple[int, str]]:
    """Return the count and one word of each token that may be a feedback term."""
    analysis = analyzer(language)
    counted: dict[str, tuple[int, str]] = {}
    for word, count in Counter(analysis.words(text)).items():
        common = word in analysis.long_stopwords or idf(word, language) < _TOO_COMMON
        if not common and _TERM.fullmatch(word):
            for token in analysis.tokens(word):
                before, first = counted.get(token, (0, word))
                counted[token] = before + count, first
    return counted
