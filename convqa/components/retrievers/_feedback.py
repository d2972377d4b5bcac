"""Pseudo-relevance feedback: expanding a query with common words of its first passages.

RM3 (Abdul-Jaleel et al., TREC 2004) as in Anserini's Rm3Reranker. The ``terms`` most frequent tokens of each passage,
as shares of their sum, are weighted by the passage's score and summed. The ``terms`` best, normalized to a sum of 1,
are mixed with the query's own weights. Because it reads texts, it works with every store. Unlike Anserini, it excludes
words that are too common in convqa's own idf table (more than a tenth of its texts), not in the collection, and the
stop words of the long list.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from convqa.domain import Query, Ranking
from convqa.stores.base import Stopwords
from convqa.text.analysis import analyzer, weigh
from convqa.text.cache import remembered
from convqa.text.idf import idf

_TOO_COMMON = math.log(10)
_TERM = re.compile(r"\w{2,20}")


@dataclass(frozen=True, slots=True)
class Prf:
    """Expand with ``terms`` of the first ``passages``; ``weight`` is that of the query's own words."""

    passages: int = 10
    terms: int = 10
    weight: float = 0.5


def expand(query: Query, ranking: Ranking, prf: Prf, language: str, stopwords: Stopwords = "default") -> Query:
    """Return the query with its own words and weights and proportionally weighted feedback terms.

    :param ranking: the query's ranking, with the passages of its first ``prf.passages`` hits.
    """
    own = weigh(query, analyzer(language), stopwords)
    model = relevance_model(ranking, prf, language)
    if not own or not model or prf.weight == 1:
        return query
    if prf.weight == 0:
        return Query("", tuple(model.items()), query.weight)
    # weight x own / |own| + (1 - weight) x model, times |own| / weight: this keeps the order and the query's weights.
    share = (1 - prf.weight) / prf.weight * sum(own.values())
    return Query(query.text, (*query.terms, *((word, share * part) for word, part in model.items())), query.weight)


def relevance_model(ranking: Ranking, prf: Prf, language: str) -> Mapping[str, float]:
    """Return the probabilities of the ``prf.terms`` best words; a word represents all words with its stem."""
    weights: dict[str, float] = {}
    written: dict[str, str] = {}
    for hit in ranking.hits[: prf.passages]:
        counted = {} if hit.passage is None else _counted(hit.passage.whole_text, language)
        frequent = sorted(counted, key=lambda token: (-counted[token][0], token))[: prf.terms]
        total = sum(counted[token][0] for token in frequent)
        for token in frequent:
            count, word = counted[token]
            weights[token] = weights.get(token, 0.0) + count / total * hit.score
            written.setdefault(token, word)
    best = sorted(weights, key=lambda token: (-weights[token], token))[: prf.terms]
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
