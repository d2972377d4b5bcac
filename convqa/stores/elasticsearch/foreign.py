"""Read-only access to foreign indexes, which are searched by their own analysis.

A file of ``configs/collections`` names the fields of a passage (``fields``). Without one, indexes of Haystack's
``ElasticsearchDocumentStore`` are recognized.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from convqa.domain import DEFAULT_LANGUAGE, Passage, Query, Ranking
from convqa.errors import InputError, WorkError
from convqa.files import replace_surrogates
from convqa.stores.address import Address
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
from convqa.stores.elasticsearch.client import ask
from convqa.stores.elasticsearch.index import ServerHit, ServerIndex, slices
from convqa.stores.elasticsearch.layout import PassageFields, VectorField
from convqa.stores.elasticsearch.search import NOTHING, Scored, hits_asked, nearest, rankings
from convqa.stores.elasticsearch.target import IndexTarget
from convqa.text.analysis import MOST_TOKENS, analyzer

logger = logging.getLogger(__name__)

ENGINE = "elasticsearch"
_DOCUMENTS_PER_SEARCH = 200


class ForeignIndex:
    """See :class:`convqa.stores.base.Store`.

    The server analyzes words, after long stop words are dropped here. The score of a passage is the sum of the field's
    BM25, without the factor k1 + 1, over the words of the question and the weighted terms of the history; that of the
    title is added with ``title_weight`` (default 1).

    :param record: the server's record of the index.
    :param address: names the fields of a passage, and the field and encoder of the vectors.
    """

    closed = False

    def __init__(
        self,
        target: IndexTarget,
        name: str,
        record: Mapping[str, Any],
        address: Address,
    ) -> None:
        self.target = target
        self._fields = PassageFields(address.fields, record, str(target), address.vector)
        self._index = ServerIndex(target, name)
        language = address.language or DEFAULT_LANGUAGE
        self._analyzer = analyzer(language)
        text, title, vector = self._fields.text, self._fields.title, self._fields.vector
        capabilities = {"filter", "stopwords"}
        if title is not None:
            capabilities.add("title_weight")
        encoder = None
        vectors = 0
        if vector is not None:
            capabilities.add("vectors")
            encoder = Encoder(address.encoder, "", vector.dimension)
            vectors = self._index.count({"exists": {"field": vector.name}})
        self._info = Info(
            engine=ENGINE,
            count=self._index.count(),
            language=language,
            analyzer=text.analyzer,
            fields=tuple(field.name for field in (title, text) if field),
            checksum=state_of(target, name),
            encoder=encoder,
            vectors=vectors,
            capabilities=frozenset(capabilities),
            k1=text.k1,
            b=text.b,
        )

    def info(self) -> Info:
        if self.closed:
            raise WorkError(f"collection {self.target} is closed")
        return self._info

    def check(self, params: SearchParams) -> None:
        """:raises InputError: also for a filter on a field that is not indexed."""
        refuse_unknown(params, self.info(), f"collection {self.target}")
        self._filter(params.filter)

    def search(
        self,
        queries: Sequence[Query],
        k: int,
        params: SearchParams,
        texts: int = 20,
    ) -> list[Ranking]:
        """See :class:`convqa.stores.base.Store`. Ties at the cut are settled among the first k + 50.

        :raises InputError: for two documents with the same passage id.
        :raises ValueError: for weights that are not finite, negative, or too large.
        """
        self.check(params)
        matches = self._ranked([{"query": self._query(query, params)} for query in queries], k)
        return rankings(matches, k, texts, self.fetch)

    def search_vectors(
        self,
        matrix: Matrix,
        k: int,
        encoder: Encoder,
        texts: int = 20,
        filter: Filter | None = None,
    ) -> list[Ranking]:
        """See :class:`convqa.stores.base.Store`. Scores are inner products by the field's similarity."""
        name = f"collection {self.target}"
        refuse_encoder(encoder, self.info(), name)
        field = self._vector_field()
        rows = checked_vectors(matrix, None, encoder, f"queries of {name}")
        accepted = {"filter": self._filter(filter)}
        searches = [{"knn": nearest(field.name, row, k, field.precision) | accepted} for row in rows]
        matches = self._ranked(searches, k)
        products = [[(field.product(score), id) for score, id in hits] for hits in matches]
        return rankings(products, k, texts, self.fetch)

    def vectors(self, ids: Ids) -> list[Floats | None]:
        """Return the vectors of passages, normalized, None for missing ones."""
        pairs = [pair for query in self._queries_of(ids) for pair in self._with_vectors(query, _DOCUMENTS_PER_SEARCH)]
        vector_of = {passage.id: vector for passage, vector in pairs}
        return [vector_of.get(id) for id in ids]

    def sample(self, count: int) -> list[tuple[Passage, Floats]]:
        """Return some passages with their vectors, normalized."""
        return self._with_vectors({"exists": {"field": self._vector_field().name}}, count)

    def fetch(self, ids: Ids) -> list[Passage | None]:
        self.info()
        found = [hit for query in self._queries_of(ids) for hit in self._hits(query, _DOCUMENTS_PER_SEARCH)]
        passage_of = {passage.id: passage for passage in map(self._fields.passage, found)}
        return [passage_of.get(id) for id in ids]

    def scan(self) -> Iterator[Passage]:
        self.info()
        return map(self._fields.passage, self._index.scan({"_source": False, "fields": self._fields.stored}))

    def close(self) -> None:
        self.closed = True

    def _queries_of(self, ids: Ids) -> list[dict[str, Any]]:
        """Return queries for the documents of passages."""
        distinct = sorted({replace_surrogates(id) for id in ids if id})
        return [self._fields.with_ids(piece) for piece in slices(distinct, _DOCUMENTS_PER_SEARCH)]

    def _with_vectors(self, query: dict[str, Any], size: int) -> list[tuple[Passage, Floats]]:
        field = self._vector_field()
        pairs = []
        for hit in self._hits(query, size, field.name):
            if field.name not in hit.get("fields", {}):
                continue
            vector = np.array(hit["fields"][field.name], np.float32)
            length = float(np.linalg.norm(vector)) or 1.0
            pairs.append((self._fields.passage(hit), vector / length))
        return pairs

    def _vector_field(self) -> VectorField:
        assert self._fields.vector is not None
        return self._fields.vector

    def _hits(
        self,
        query: dict[str, Any],
        size: int,
        *others: str,
    ) -> list[ServerHit]:
        """Return the first hits of a query with the fields of passages, and others."""
        body = {
            "size": size,
            "query": query,
            "_source": False,
            "fields": [*self._fields.stored, *others],
        }
        return self._index.search([body])[0]

    def _query(self, query: Query, params: SearchParams) -> dict[str, Any]:
        parts = [(query.text, 1.0), *query.terms]
        check_weights((weight for _, weight in parts), query)
        weight_of = Counter[str]()
        for text, weight in parts:
            for word in replace_surrogates(text).split():
                if weight and not (params.stopwords == "long" and self._is_stopword(word)):
                    weight_of[word] += weight  # type: ignore[assignment]
        most = MOST_TOKENS if self._fields.title is None else MOST_TOKENS // 2
        if len(weight_of) > most:
            logger.warning("a query has %d distinct words: the heaviest %d are searched", len(weight_of), most)
        clauses = []
        for word, weight in weight_of.most_common(most):
            clauses += self._fields.match(word, weight, params.title_weight)
        if not clauses:
            return NOTHING
        match = {
            "should": clauses,
            "minimum_should_match": 1,
            "filter": self._filter(params.filter),
        }
        return {"bool": match}

    def _is_stopword(self, word: str) -> bool:
        words = self._analyzer.words(word)
        return bool(words) and self._analyzer.long_stopwords.issuperset(words)

    def _filter(self, accepted: Filter | None) -> list[dict[str, Any]]:
        return [self._fields.filter(name, values) for name, values in (accepted or {}).items()]

    def _ranked(self, searches: Sequence[dict[str, Any]], k: int) -> list[list[Scored]]:
        """Return the scores and ids of the hits of each search."""
        options = {
            "size": hits_asked(k),
            "track_total_hits": False,
            "_source": False,
            "fields": [self._fields.id] if self._fields.id else [],
        }
        matches = []
        for hits in self._index.search([search | options for search in searches]):
            score_of: dict[str, float] = {}
            for hit in hits:
                id = self._fields.id_of(hit)
                if id in score_of:
                    raise InputError(
                        f"collection {self.target}: several documents have the same id, {id!r}. Name a unique field as "
                        "id under fields, or none, to use _id."
                    )
                score_of[id] = hit["_score"]
            matches.append([(score, id) for id, score in score_of.items() if score])
        return matches


def state_of(target: IndexTarget, name: str) -> str:
    """Return a checksum of a foreign index's state: its UUID and the last sequence number of each shard.

    Two indexes with the same passages have different checksums.
    """
    answer = ask(target, lambda es: es.indices.stats(index=name, metric="docs", level="shards"))
    index = answer["indices"][name]
    written = {}
    for number, copies in sorted(index["shards"].items()):
        written[number] = max(copy["seq_no"]["max_seq_no"] for copy in copies)
    return blake2b(repr((index["uuid"], written)).encode(), digest_size=16).hexdigest()
