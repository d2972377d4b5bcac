"""BM25 with the ids, order, scores and ties of Anserini's SimpleSearcher.

SimpleSearcher reads the stored text of every hit, which takes longer than the search. Here ids come from Lucene's sort
fields, and a ranking leaves Java as one JSON string.
"""

from __future__ import annotations

import binascii
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import orjson

from convqa.domain import Query
from convqa.stores.anserini.index import CONTENTS, ID, LuceneIndex
from convqa.stores.anserini.java import java_class, java_text
from convqa.stores.base import Stopwords, check_weights
from convqa.text.analysis import Analyzer, analyzer, weigh

_TIE = np.float32(1e-4)
"""Scores that differ by at most this are ties."""
_TIE_STEP = np.float32(1e-6)


@dataclass(frozen=True, slots=True)
class LuceneMatch:
    """A hit with Lucene's number of its document."""

    id: str
    score: float
    number: int


class AnseriniSearcher:
    """Searches an index with one k1 and b. Thread-safe."""

    def __init__(
        self,
        index: LuceneIndex,
        k1: float,
        b: float,
    ) -> None:
        self._index = index
        self._searcher = java_class("org.apache.lucene.search.IndexSearcher")(index.reader)
        self._searcher.setSimilarity(java_class("org.apache.lucene.search.similarities.BM25Similarity")(k1, b))
        self._generator = java_class("io.anserini.search.query.BagOfWordsQueryGenerator")()
        self._json = java_class("com.fasterxml.jackson.databind.ObjectMapper")()
        field, kind = java_class("org.apache.lucene.search.SortField"), "org.apache.lucene.search.SortField$Type"
        ids = field(ID, java_class(kind).STRING_VAL)
        self._by_score_and_id = java_class("org.apache.lucene.search.Sort")(field.FIELD_SCORE, ids)

    def rank(
        self,
        query: Query,
        k: int,
        stopwords: Stopwords,
    ) -> list[LuceneMatch]:
        """Return the best ``k`` passages for a query in SimpleSearcher's order.

        The query has a clause for each token of Anserini's analyzer, as SimpleSearcher's has, with its weight.

        :raises ValueError: for term weights that are not finite, negative, or too large.
        """
        terms = tuple((java_text(term), weight) for term, weight in query.terms)
        query = Query(java_text(query.text), terms)
        weights = weigh(query, _anserini_analyzer(), stopwords)
        check_weights(weights.values(), query)
        if not weights:
            return []
        number = java_class("java.lang.Float")
        clauses = java_class("java.util.LinkedHashMap")()
        for token, weight in weights.items():
            clauses.put(token, number(weight))
        return self._top(self._generator.buildQuery(CONTENTS, clauses), k)

    def _top(self, query: Any, k: int) -> list[LuceneMatch]:
        # Ids cannot be sorted by before Lucene 9.
        order = () if self._index.lucene8 else (self._by_score_and_id, True)
        found = self._searcher.search(query, k, *order)
        hits = orjson.loads(str(self._json.writeValueAsString(found)))["scoreDocs"]
        if self._index.lucene8:
            documents = self._index.documents()
            ids = [str(documents.document(hit["doc"]).get(ID)) for hit in hits]
            scores = [hit["score"] for hit in hits]
        else:
            ids = [_text_of(hit["fields"][1]) for hit in hits]
            scores = adjusted([hit["score"] for hit in hits])
        numbers = [hit["doc"] for hit in hits]
        return list(map(LuceneMatch, ids, scores, numbers))


def adjusted(scores: list[float]) -> list[float]:
    """Return descending scores as Anserini's ScoreTiesAdjusterReranker does: rounded to 1e-4, and ties 1e-6 apart.

    They are 32-bit floats, so that above 16 some ties remain.

    >>> adjusted([2.00001, 2.0, 1.0]) == [2.0, 1.9999990463256836, 1.0]
    True
    """
    exact = np.array(scores, np.float32).astype(np.float64)
    rounded = np.floor(exact * 1e4 + 0.5) / 1e4
    rounded = rounded.astype(np.float32)
    ties = 0
    for index in range(1, len(rounded)):
        ties = 0 if rounded[index - 1] - rounded[index] > _TIE else ties + 1
        rounded[index] -= _TIE_STEP * np.float32(ties)
    return [float(score) for score in rounded]


def _text_of(ref: Mapping[str, Any]) -> str:
    """Return the string of a Lucene BytesRef."""
    start = ref["offset"]
    return binascii.a2b_base64(ref["bytes"])[start : start + ref["length"]].decode("utf-8")


def _analyzed(text: str) -> list[str]:
    """Return the tokens of Anserini's default analyzer (English, Porter)."""
    default = java_class("io.anserini.index.IndexCollection").DEFAULT_ANALYZER
    return [str(token) for token in java_class("io.anserini.analysis.AnalyzerUtils").analyze(default, text)]


@cache
def _anserini_analyzer() -> Analyzer:
    """Return an analyzer with Anserini's tokens of English text, and those of convqa's long stop words."""
    english = analyzer("en")
    return replace(
        english,
        stopwords=frozenset(),
        long_stopwords=frozenset(_analyzed(" ".join(english.long_stopwords))),
        stem=str,
        split=_analyzed,
        drops_possessive=False,
        composes=False,
    )
