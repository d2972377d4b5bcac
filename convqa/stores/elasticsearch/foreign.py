"""Read-only access to foreign indexes, which are searched by their own analysis.

A file of ``configs/collections`` names the fields of a passage (``fields``). Without one, indexes of Haystack's
``ElasticsearchDocumentStore`` are recognised.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import orjson

from convqa.domain import Passage, Query, Ranking
from convqa.errors import InputError, WorkError
from convqa.stores.base import (
    Encoder,
    Filter,
    Floats,
    Ids,
    Info,
    Matrix,
    SearchParams,
    check_weights,
    refuse_encoder,
    refuse_unknown,
)
from convqa.stores.checks import checked_vectors
from convqa.stores.elasticsearch.bulk import slices
from convqa.stores.elasticsearch.layout import Layout
from convqa.stores.elasticsearch.reading import Answer, Reader
from convqa.stores.elasticsearch.schema import is_text
from convqa.stores.elasticsearch.search import Scored, answers, asked, nearest, rankings
from convqa.text.analysis import MOST_TOKENS, analyzer

logger = logging.getLogger(__name__)

ENGINE = "elasticsearch"
_SCORED = ("hits.hits._id", "hits.hits._score", "hits.hits._source")
_LOOKED_UP = 1000
_VECTORS = 200
_SAME_LENGTH = 0.01


class Foreign:
    """See :class:`convqa.stores.base.Store`.

    The server analyses words, after long stop words are dropped here. The score of a passage is the sum of the field's
    BM25, without the factor k1 + 1, over the words of the question and the weighted terms of the history; that of the
    title is added with ``title_weight`` (default 1).

    :param counts: the numbers of documents and of those with a vector.
    :param encoder: the encoder that the user names for its vectors.
    """

    closed = False

    def __init__(
        self,
        reader: Reader,
        layout: Layout,
        language: str,
        counts: tuple[int, int],
        checksum: str,
        encoder: Encoder | None = None,
    ) -> None:
        self.target = reader.target
        self._reader, self._layout = reader, layout
        self._analyzer = analyzer(language)
        self.compared: set[str] = set()
        """Identities of encoders whose vectors were compared with the index's."""
        self._info = Info(
            engine=ENGINE,
            count=counts[0],
            language=language,
            analyzer=layout.text.analyzer,
            fields=tuple(field.name for field in (layout.title, layout.text) if field is not None),
            checksum=checksum,
            encoder=encoder,
            vectors=counts[1],
            capabilities=frozenset({"filter", "stopwords"})
            | ({"title_weight"} if layout.title else set())
            | ({"vectors"} if layout.vector else set()),
            k1=layout.text.k1,
            b=layout.text.b,
        )

    def info(self) -> Info:
        if self.closed:
            raise WorkError(f"collection {self.target} is closed")
        return self._info

    def check(self, params: SearchParams) -> None:
        """:raises InputError: also for a filter on a field that is not indexed."""
        refuse_unknown(params, self.info(), f"collection {self.target}")
        self._filter(params)

    def search(self, queries: Sequence[Query], k: int, params: SearchParams, texts: int = 20) -> list[Ranking]:
        """See :class:`convqa.stores.base.Store`. Ties at the cut are settled among the first k + 50.

        :raises InputError: for two documents with the same passage id.
        :raises ValueError: for weights that are not finite, negative, or too large.
        """
        self.check(params)
        bodies = [self._body(query, k, params) if k > 0 else None for query in queries]
        with self._reader.reading():
            matches = [self._scored(answer) for answer in answers(self._reader, bodies, _SCORED)]
            return rankings(matches, k, texts, self.fetch)

    def search_vectors(
        self, matrix: Matrix, k: int, encoder: Encoder, texts: int = 20, filter: Filter | None = None
    ) -> list[Ranking]:
        """See :class:`convqa.stores.base.Store`. Scores are inner products by the field's similarity."""
        place, field = f"collection {self.target}", self._layout.vector
        refuse_encoder(encoder, self.info(), place)
        assert field is not None
        rows = checked_vectors(matrix, None, encoder, f"queries of {place}")
        accepted = {"filter": self._filter(SearchParams(filter=filter))}
        near = [nearest(field.name, row, k, field.precision) | accepted for row in rows]
        bodies = [self._asked(k, knn=knn) if k > 0 else None for knn in near]
        with self._reader.reading():
            matches = [self._scored(answer) for answer in answers(self._reader, bodies, _SCORED)]
            matches = [[(field.product(score), id) for score, id in hits] for hits in matches]
            return rankings(matches, k, texts, self.fetch)

    def vectors(self, ids: Ids) -> list[Floats | None]:
        """Return the vectors of passages, normalized, None for missing ones."""
        distinct = sorted({id for id in ids if id and is_text(id)})
        chunks = slices(distinct, _VECTORS)
        queries = [self._layout.with_ids(chunk) for chunk in chunks]
        vectors = {passage.id: vector for query in queries for passage, vector in self._with_vectors(query, _VECTORS)}
        return [vectors.get(id) for id in ids]

    def sample(self, count: int) -> list[tuple[Passage, Floats]]:
        """Return some passages with their vectors, normalized.

        :raises InputError: for vectors compared by ``l2_norm`` whose length is not 1.
        """
        assert self._layout.vector is not None
        return self._with_vectors({"exists": {"field": self._layout.vector.name}}, count)

    def _with_vectors(self, query: dict[str, Any], size: int) -> list[tuple[Passage, Floats]]:
        field = self._layout.vector
        assert field is not None
        body = {"size": size, "query": query, "fields": [field.name], "_source": {"excludes": [field.name]}}
        with self._reader.reading():
            (answer,) = self._reader.search([orjson.dumps(body)], ("hits.hits",))
        pairs = []
        for hit in answer.get("hits", {}).get("hits", []):
            if field.name in hit.get("fields", {}):
                vector = np.array(hit["fields"][field.name], np.float32)
                length = float(np.linalg.norm(vector)) or 1.0
                if field.similarity == "l2_norm" and abs(length - 1) > _SAME_LENGTH:
                    raise InputError(
                        f"collection {self.target}: the field {field.name!r} compares by l2_norm, and has a vector of "
                        f"length {length:.3g}; expected vectors of length 1, or the similarity cosine."
                    )
                pairs.append((self._layout.passage(hit["_id"], hit["_source"]), vector / length))
        return pairs

    def fetch(self, ids: Ids) -> list[Passage | None]:
        self.info()
        distinct = list(dict.fromkeys(id for id in ids if id and is_text(id)))
        queries = [self._layout.with_ids(chunk) for chunk in slices(distinct, _LOOKED_UP)]
        bodies = [orjson.dumps({"size": _LOOKED_UP, "query": query}) for query in queries]
        with self._reader.reading():
            answers = self._reader.search(bodies, ("hits.hits._id", "hits.hits._source"))
        hits = [hit for answer in answers for hit in answer.get("hits", {}).get("hits", [])]
        passages = [self._layout.passage(hit["_id"], hit["_source"]) for hit in hits]
        passage_of = {passage.id: passage for passage in passages}
        return [passage_of.get(id) for id in ids]

    def scan(self) -> Iterator[Passage]:
        self.info()
        with self._reader.reading():
            for hit in self._reader.scan():
                yield self._layout.passage(hit["_id"], hit["_source"])

    def close(self) -> None:
        self.closed = True

    def _body(self, query: Query, k: int, params: SearchParams) -> bytes | None:
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
        return self._asked(k, query={"bool": bool})

    def _asked(self, k: int, **search: Any) -> bytes:
        source = [self._layout.id] if self._layout.id else False
        body = {"size": asked(k), "track_total_hits": False, "_source": source, **search}
        return orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)

    def _shortened(self, parts: Sequence[tuple[str, float]], params: SearchParams) -> list[tuple[str, float]]:
        """Return texts without stop words, with at most as many words as a server accepts."""
        drops = self._is_stopword if params.stopwords == "long" else lambda _: False
        numbered = [(number, word) for number, (text, weight) in enumerate(parts) if weight for word in text.split()]
        words = [(number, word) for number, word in numbered if is_text(word) and not drops(word)]
        most = MOST_TOKENS // (1 if self._layout.title is None else 2)
        if len(words) > most:
            logger.warning("a query has more words than Elasticsearch accepts: the first are searched")
        groups = groupby(words[:most], key=itemgetter(0))
        return [(" ".join(word for _, word in group), parts[number][1]) for number, group in groups]

    def _is_stopword(self, word: str) -> bool:
        words = self._analyzer.words(word)
        return bool(words) and self._analyzer.long_stopwords.issuperset(words)

    def _filter(self, params: SearchParams) -> list[dict[str, Any]]:
        return [self._layout.filter(name, values) for name, values in (params.filter or {}).items()]

    def _scored(self, answer: Answer) -> list[Scored]:
        hits = answer.get("hits", {}).get("hits", [])
        ids = [self._layout.id_of(hit["_id"], hit.get("_source", {})) for hit in hits]
        for id, count in Counter(ids).items():
            if count > 1:
                raise InputError(
                    f"collection {self.target}: {count} documents have the same id, {id!r}. Name a unique field as id "
                    "under fields, or none, to use _id."
                )
        return [(hit["_score"], id) for hit, id in zip(hits, ids, strict=True) if hit["_score"]]
