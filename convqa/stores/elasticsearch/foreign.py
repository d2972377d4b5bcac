"""An index that others filled, for reading: searched as its own mapping analyses it.

Which of its fields are a passage's, a file of ``configs/collections`` says (``fields``); without one, the index of
Haystack's ``ElasticsearchDocumentStore`` is recognised.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from convqa.domain import Hit, MetaValue, Passage, Query, Ranking
from convqa.errors import InputError, WorkError
from convqa.stores.base import Encoder, Filter, Info, SearchParams, refuse_encoder
from convqa.stores.elasticsearch.layout import Layout
from convqa.stores.elasticsearch.options import refuse
from convqa.stores.elasticsearch.reading import Answer, Reader
from convqa.stores.elasticsearch.search import asked, check_depth
from convqa.stores.weights import check_weights
from convqa.text.analysis import MOST_TOKENS, Analyzer, analyzer
from convqa.validation import shorten

logger = logging.getLogger(__name__)

ENGINE = "elasticsearch"
_LOOKED_UP = 1000


class Foreign:
    """See :class:`convqa.stores.base.Store`. Read-only; nothing on the server is changed.

    Words are analysed by the server. Long stop words are dropped here, before it. A passage's score is the sum of the
    field's own BM25 over the question's words and, with their weights, the history's terms, without the old factor
    (k1 + 1); where the index has titles, theirs is added (``title_weight``, 1 if none is given).

    :param reader: of the index. :param count, checksum: of the index.
    """

    def __init__(self, reader: Reader, layout: Layout, language: str, count: int, checksum: str) -> None:
        self.target = reader.target
        self._reader, self._layout = reader, layout
        self._words = _known(language)
        self._closed = False
        able = {"filter"} | ({"title_weight"} if layout.title else set()) | ({"stopwords"} if self._words else set())
        self._info = Info(
            engine=ENGINE,
            count=count,
            language=language,
            analyzer=layout.text.analyzer,
            fields=tuple(field.name for field in (layout.title, layout.text) if field is not None),
            checksum=checksum,
            capabilities=frozenset(able),
            k1=layout.text.k1,
            b=layout.text.b,
        )

    def info(self) -> Info:
        self._open()
        return self._info

    def check(self, params: SearchParams) -> None:
        """:raises InputError: for a filter on a field that is not indexed, too."""
        refuse(params, self.info(), f"collection {self.target}")
        self._filter(params)

    def search(self, queries: Sequence[Query], k: int, params: SearchParams, texts: int = 20) -> list[Ranking]:
        """See :class:`convqa.stores.base.Store`. Ties at the cut are settled among the first k + 50.

        :raises ValueError: for weights that are no finite numbers, negative, or too large.
        """
        self.check(params)
        check_depth(k)
        bodies = [self._body(query, k, params) if k > 0 else None for query in queries]
        with self._reader.reading():
            answers = iter(self._reader.search([body for body in bodies if body is not None], _WANTED))
            found = [[] if body is None else self._hits(next(answers)) for body in bodies]
            keys = {hit.id: key for hits in found for key, hit in hits}
            rankings = [Ranking(Ranking.of([hit for _, hit in hits if hit.score]).hits[:k]) for hits in found]
            return self._attach(rankings, keys, texts)

    def search_vectors(
        self,
        matrix: NDArray[np.floating[Any]],  # noqa: ARG002
        k: int,  # noqa: ARG002
        encoder: Encoder,
        texts: int = 20,  # noqa: ARG002
        filter: Filter | None = None,  # noqa: ARG002
    ) -> list[Ranking]:
        """:raises InputError: always; whose vectors an index has, it does not say."""
        refuse_encoder(encoder, self.info(), f"collection {self.target}")
        raise AssertionError("a foreign index has no encoder")

    def fetch(self, ids: Sequence[str]) -> list[Passage | None]:
        self._open()
        wanted = list(dict.fromkeys(id for id in ids if _plain(id) == id and id))
        with self._reader.reading():
            found = self._by_key(wanted) if self._layout.id is None else self._by_field(wanted)
        return [found.get(id) for id in ids]

    def scan(self) -> Iterator[Passage]:
        self._open()
        return self._scan()

    def close(self) -> None:
        self._closed = True

    @property
    def closed(self) -> bool:
        return self._closed

    def _open(self) -> None:
        if self._closed:
            raise WorkError(f"collection {self.target} is closed")

    def _scan(self) -> Iterator[Passage]:
        with self._reader.reading():
            for hit in self._reader.scan():
                yield self._layout.passage(hit["_id"], hit["_source"])

    def _body(self, query: Query, k: int, params: SearchParams) -> bytes | None:
        """A search; None for one that finds nothing."""
        parts = [(query.text, 1.0), *query.terms]
        check_weights((weight for _, weight in parts), query)
        clauses = [
            clause
            for text, weight in self._shortened(parts, params)
            for clause in self._layout.match(text, weight, params.title_weight)
        ]
        if not clauses:
            return None
        bool = {"should": clauses, "minimum_should_match": 1, "filter": self._filter(params)}
        body = {"size": asked(k), "track_total_hits": False, **self._layout.ids, "query": {"bool": bool}}
        return orjson.dumps(body)

    def _shortened(self, parts: Sequence[tuple[str, float]], params: SearchParams) -> list[tuple[str, float]]:
        """Texts with words to search for, at most as many as the server takes."""
        kept: list[tuple[str, float]] = []
        left, cut = MOST_TOKENS // (1 if self._layout.title is None else 2), False
        for text, weight in parts:
            words = _plain(text).split()
            if params.stopwords == "long":
                words = [word for word in words if not self._is_stopword(word)]
            cut = cut or len(words) > left
            words = words[:left]
            left -= len(words)
            if words and weight:
                kept.append((" ".join(words), weight))
        if cut:
            logger.warning("a query has more words than Elasticsearch takes: the first are searched")
        return kept

    def _is_stopword(self, word: str) -> bool:
        assert self._words is not None
        found = self._words.words(word)
        return bool(found) and self._words.long_stopwords.issuperset(found)

    def _filter(self, params: SearchParams) -> list[Any]:
        accepted: Mapping[str, tuple[MetaValue, ...]] = params.filter or {}
        return [self._layout.filter(name, values, str(self.target)) for name, values in accepted.items()]

    def _hits(self, answer: Answer) -> list[tuple[str, Hit]]:
        """Hits with their ``_id``, best first.

        :raises InputError: for two documents with one id: their passages could not be told apart.
        """
        found: dict[str, tuple[str, Hit]] = {}
        for hit in answer.get("hits", {}).get("hits", []):
            id = self._layout.id_of(hit)
            if id in found:
                raise InputError(
                    f"collection {self.target}: documents {hit['_id']!r} and {found[id][0]!r} have the same id, "
                    f"{shorten(id)}. Wanted under fields: an id that each document has alone, or none, for its own _id."
                )
            found[id] = hit["_id"], Hit(id, hit["_score"])
        return list(found.values())

    def _attach(self, rankings: Sequence[Ranking], keys: Mapping[str, str], texts: int) -> list[Ranking]:
        ids = list(dict.fromkeys(hit.id for ranking in rankings for hit in ranking.hits[: max(texts, 0)]))
        sources = self._reader.documents([keys[id] for id in ids])
        passages = {id: self._layout.passage(id, sources[keys[id]], id) for id in ids if keys[id] in sources}
        return [
            Ranking(
                tuple(
                    Hit(hit.id, hit.score, passages.get(hit.id)) if place < texts else hit
                    for place, hit in enumerate(ranking.hits)
                )
            )
            for ranking in rankings
        ]

    def _by_key(self, ids: Sequence[str]) -> dict[str, Passage]:
        sources = self._reader.documents([id for id in ids if len(id.encode()) <= _LONGEST_KEY])
        return {id: self._layout.passage(id, source) for id, source in sources.items()}

    def _by_field(self, ids: Sequence[str]) -> dict[str, Passage]:
        found: dict[str, Passage] = {}
        for start in range(0, len(ids), _LOOKED_UP):
            for hit in self._reader.scan(query=self._layout.with_ids(ids[start : start + _LOOKED_UP])):
                passage = self._layout.passage(hit["_id"], hit["_source"])
                found.setdefault(passage.id, passage)
        return found


_LONGEST_KEY = 512
"""Bytes of an ``_id``."""

_WANTED = ("hits.hits._id", "hits.hits._score", "hits.hits.fields")


def _plain(text: str) -> str:
    """A text without halves of surrogate pairs, which JSON does not take."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _known(language: str) -> Analyzer | None:
    """The stop words of a language that convqa knows."""
    try:
        return analyzer(language)
    except InputError:
        return None
