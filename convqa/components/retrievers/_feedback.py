"""Pseudo-relevance feedback: a query again, with what the first passages that it found have in common.

RM3 (Abdul-Jaleel et al., TREC 2004) as Anserini's Rm3Reranker computes it: each passage's ``terms`` most
frequent tokens, as shares of their sum, weighted by the passage's score; of their sums the ``terms`` best, to a sum of
1, mixed with the query's own weights. It reads texts, so that it serves every store. What differs: a word is too common
to be a feedback term by convqa's own table of idf (more than a tenth of its texts have it), not by the collection's
document frequencies, and stop words of the long list never are.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping

from convqa.domain import Query, Ranking
from convqa.stores.base import Prf, Stopwords
from convqa.text.analysis import analyzer, weigh
from convqa.text.cache import remembered
from convqa.text.idf import idf

_TOO_COMMON = math.log(10)
_TERM = re.compile(r"\w{2,20}")


def expand(query: Query, found: Ranking, prf: Prf, language: str, stopwords: Stopwords = "default") -> Query:
    """The query with feedback terms: its own words and weights stay, those terms are added in proportion.

    :param found: the query's ranking, with the passages of its first ``prf.passages`` hits.
    """
    own = weigh(query, analyzer(language), stopwords)
    model = relevance_model(found, prf, language)
    if not own or not model or prf.weight == 1:
        return query
    if prf.weight == 0:
        return Query("", tuple(model.items()), query.weight)
    # weight x own / |own| + (1 - weight) x model, times |own| / weight: the same order, and the query's words keep 1.
    share = (1 - prf.weight) / prf.weight * sum(own.values())
    return Query(query.text, (*query.terms, *((word, share * part) for word, part in model.items())), query.weight)


def relevance_model(found: Ranking, prf: Prf, language: str) -> Mapping[str, float]:
    """Word -> probability, of the ``prf.terms`` best; a word stands for all that have its stem."""
    weights: dict[str, float] = {}
    written: dict[str, str] = {}
    for hit in found.hits[: prf.passages]:
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
    """Token -> occurrences and a word that has it, for tokens that may be feedback terms."""
    analysis = analyzer(language)
    counted: dict[str, tuple[int, str]] = {}
    for word, count in Counter(analysis.words(text)).items():
        common = word in analysis.long_stopwords or idf(word, language) < _TOO_COMMON
        if not common and _TERM.fullmatch(word):
            for token in analysis.tokens(word):
                before, first = counted.get(token, (0, word))
                counted[token] = before + count, first
    return counted
