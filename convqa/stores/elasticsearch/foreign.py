"""Read-only access to foreign indexes, which are searched by their own analysis.

A file of ``configs/collections`` names the fields of a passage (``fields``). Without one, indexes of Haystack's
``ElasticsearchDocumentStore`` are recognized.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

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
from convqa.stores.elasticsearch.index import Answer, ServerIndex
from convqa.stores.elasticsearch.layout import PassageFields, VectorField
from convqa.stores.elasticsearch.schema import is_text
from convqa.stores.elasticsearch.search import NOTHING, Scored, hits_asked, hits_of, nearest, rankings
from convqa.text.analysis import MOST_TOKENS, analyzer

logger = logging.getLogger(__name__)

ENGINE = "elasticsearch"
_SCORED = ("hits.hits._id", "hits.hits._score", "hits.hits._source")
_DOCUMENTS_PER_SEARCH = 1000
_VECTORS_PER_SEARCH = 200
_LENGTH_TOLERANCE = 0.01
"""Difference from 1 of the length of vectors that count as normalized."""


class ForeignIndex:
    """See :class:`convqa.stores.base.Store`.

    The server analyzes words, after long stop words are dropped here. The score of a passage is the sum of the field's
    BM25, without the factor k1 + 1, over the words of the question and the weighted terms of the history; that of the
    title is added with ``title_weight`` (default 1).

    :param counts: the numbers of documents and of those with a vector.
    :param encoder: the encoder that the user names for its vectors.
    """

    closed = False

    def __init__(
        self,
        index: ServerIndex,
        fields: PassageFields,
        language: str,
        counts: tuple[int, int],
        checksum: str,
        encoder: Encoder | None = None,
    ) -> None:
        self.target = index.target
        self._index = index
        self._fields = fields
        self._analyzer = analyzer(language)
        self.compared: set[str] = set()
        """Identities of encoders whose vectors were compared with the index's."""
        capabilities = {"filter", "stopwords"}
        names = [fields.text.name]
        if fields.title is not None:
            capabilities.add("title_weight")
            names.insert(0, fields.title.name)
        if fields.vector is not None:
            capabilities.add("vectors")
        self._info = Info(
            engine=ENGINE,
            count=counts[0],
            language=language,
            analyzer=fields.text.analyzer,
            fields=tuple(names),
            checksum=checksum,
            encoder=encoder,
            vectors=counts[1],
            capabilities=frozenset(capabilities),
            k1=fields.text.k1,
            b=fields.text.b,
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
        bodies = [self._asked(k, query=self._query(query, params)) for query in queries]
        matches = [self._scored(answer) for answer in self._index.search(bodies, _SCORED)]
        return rankings(matches, k, texts, self.fetch)

    def search_vectors(
        self, matrix: Matrix, k: int, encoder: Encoder, texts: int = 20, filter: Filter | None = None
    ) -> list[Ranking]:
        """See :class:`convqa.stores.base.Store`. Scores are inner products by the field's similarity."""
        name = f"collection {self.target}"
        refuse_encoder(encoder, self.info(), name)
        field = self._vector_field()
        rows = checked_vectors(matrix, None, encoder, f"queries of {name}")
        accepted = {"filter": self._filter(SearchParams(filter=filter))}
        bodies = []
        for row in rows:
            knn = nearest(field.name, row, k, field.precision) | accepted
            bodies.append(self._asked(k, knn=knn))
        matches = [self._scored(answer) for answer in self._index.search(bodies, _SCORED)]
        products = [[(field.product(score), id) for score, id in hits] for hits in matches]
        return rankings(products, k, texts, self.fetch)

    def vectors(self, ids: Ids) -> list[Floats | None]:
        """Return the vectors of passages, normalized, None for missing ones."""
        distinct = sorted({id for id in ids if id and is_text(id)})
        vector_of: dict[str, Floats] = {}
        for piece in slices(distinct, _VECTORS_PER_SEARCH):
            for passage, vector in self._with_vectors(self._fields.with_ids(piece), _VECTORS_PER_SEARCH):
                vector_of[passage.id] = vector
        return [vector_of.get(id) for id in ids]

    def sample(self, count: int) -> list[tuple[Passage, Floats]]:
        """Return some passages with their vectors, normalized.

        :raises InputError: for vectors compared by ``l2_norm`` whose length is not 1.
        """
        return self._with_vectors({"exists": {"field": self._vector_field().name}}, count)

    def _with_vectors(self, query: dict[str, Any], size: int) -> list[tuple[Passage, Floats]]:
        field = self._vector_field()
        body = {
            "size": size,
            "query": query,
            "fields": [field.name],
            "_source": {"excludes": [field.name]},
        }
        pairs = []
        for hit in self._hits([body], ("hits.hits",)):
            if field.name not in hit.get("fields", {}):
                continue
            vector = np.array(hit["fields"][field.name], np.float32)
            length = float(np.linalg.norm(vector)) or 1.0
            if field.similarity == "l2_norm" and abs(length - 1) > _LENGTH_TOLERANCE:
                raise InputError(
                    f"collection {self.target}: the field {field.name!r} compares by l2_norm, and has a vector of "
                    f"length {length:.3g}; expected vectors of length 1, or the similarity cosine."
                )
            pairs.append((self._fields.passage(hit["_id"], hit["_source"]), vector / length))
        return pairs

    def _vector_field(self) -> VectorField:
        assert self._fields.vector is not None
        return self._fields.vector

    def fetch(self, ids: Ids) -> list[Passage | None]:
        self.info()
        distinct = sorted({id for id in ids if id and is_text(id)})
        bodies = []
        for piece in slices(distinct, _DOCUMENTS_PER_SEARCH):
            query = self._fields.with_ids(piece)
            bodies.append({"size": _DOCUMENTS_PER_SEARCH, "query": query})
        passage_of = {}
        for hit in self._hits(bodies, ("hits.hits._id", "hits.hits._source")):
            passage = self._fields.passage(hit["_id"], hit["_source"])
            passage_of[passage.id] = passage
        return [passage_of.get(id) for id in ids]

    def _hits(self, bodies: Sequence[dict[str, Any]], fields: Sequence[str]) -> list[Mapping[str, Any]]:
        answers = self._index.search(bodies, fields)
        return [hit for answer in answers for hit in hits_of(answer)]

    def scan(self) -> Iterator[Passage]:
        self.info()
        for hit in self._index.scan():
            yield self._fields.passage(hit["_id"], hit["_source"])

    def close(self) -> None:
        self.closed = True

    def _query(self, query: Query, params: SearchParams) -> dict[str, Any]:
        parts = [(query.text, 1.0), *query.terms]
        check_weights((weight for _, weight in parts), query)
        clauses = []
        for text, weight in self._shortened(parts, params):
            clauses += self._fields.match(text, weight, params.title_weight)
        if not clauses:
            return NOTHING
        match = {
            "should": clauses,
            "minimum_should_match": 1,
            "filter": self._filter(params),
        }
        return {"bool": match}

    def _asked(self, k: int, **search: Any) -> dict[str, Any]:
        return {
            "size": hits_asked(k),
            "track_total_hits": False,
            "_source": [self._fields.id] if self._fields.id else False,
            **search,
        }

    def _shortened(self, parts: Sequence[tuple[str, float]], params: SearchParams) -> list[tuple[str, float]]:
        """Return texts without stop words, with at most as many words as a server accepts."""
        spare = MOST_TOKENS if self._fields.title is None else MOST_TOKENS // 2
        is_cut = False
        shortened = []
        for text, weight in parts:
            words = [word for word in text.split() if weight and is_text(word)]
            if params.stopwords == "long":
                words = [word for word in words if not self._is_stopword(word)]
            is_cut = is_cut or len(words) > spare
            words = words[:spare]
            spare -= len(words)
            if words:
                shortened.append((" ".join(words), weight))
        if is_cut:
            logger.warning("a query has more words than Elasticsearch accepts: the first are searched")
        return shortened

    def _is_stopword(self, word: str) -> bool:
        words = self._analyzer.words(word)
        return bool(words) and self._analyzer.long_stopwords.issuperset(words)

    def _filter(self, params: SearchParams) -> list[dict[str, Any]]:
        return [self._fields.filter(name, values) for name, values in (params.filter or {}).items()]

    def _scored(self, answer: Answer) -> list[Scored]:
        score_of: dict[str, float] = {}
        for hit in hits_of(answer):
            id = self._fields.id_of(hit["_id"], hit.get("_source", {}))
            if id in score_of:
                raise InputError(
                    f"collection {self.target}: several documents have the same id, {id!r}. Name a unique field as id "
                    "under fields, or none, to use _id."
                )
            score_of[id] = hit["_score"]
        return [(score, id) for id, score in score_of.items() if score]
