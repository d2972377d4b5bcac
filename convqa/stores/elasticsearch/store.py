"""A collection in Elasticsearch that convqa made: the version at the time of opening."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np

from convqa.domain import Passage, Query, Ranking
from convqa.errors import WorkError
from convqa.stores.base import (
    Encoder,
    Filter,
    Floats,
    Ids,
    Info,
    Matrix,
    SearchParams,
    Transaction,
    Writing,
    check_weights,
    refuse_encoder,
    refuse_unknown,
)
from convqa.stores.checks import checked_vectors, stored_analyzer
from convqa.stores.elasticsearch.index import ServerIndex, slices
from convqa.stores.elasticsearch.schema import Version, document_id
from convqa.stores.elasticsearch.search import (
    BARE,
    NOTHING,
    best,
    filtered,
    hits_asked,
    inner_product,
    nearest,
    rankings,
    scored,
)
from convqa.stores.elasticsearch.target import IndexTarget
from convqa.stores.elasticsearch.writer import BulkWriter, Change, current_version
from convqa.text.analysis import weigh

CAPABILITIES = frozenset({"stopwords", "filter", "write", "vectors"})
_VECTORS_PER_SEARCH = 200
"""1 MB at 384 dimensions."""
_PASSAGES_PER_REQUEST = 500
"""Passages whose vectors are looked up at once."""


class ElasticsearchCollection(Writing):
    """A collection that convqa made. Many threads may search at once; only one may write.

    It reads the version that was current when it was opened, or that it committed. A change by another process makes
    a new version and removes this one: reading then raises a ``RunError``. An add, delete or commit that raises drops
    everything since the last commit.

    :param writer: that of a collection that is being made: searches see what was committed, and nobody else sees
        anything.
    :raises InputError: for a version analyzed by another version of convqa.
    """

    _current: Version | None = None

    def __init__(
        self,
        target: IndexTarget,
        version: Version,
        writer: BulkWriter | None = None,
    ) -> None:
        self.target = target
        self._writer = writer
        self._words = stored_analyzer(version.meta.language, version.meta.analyzer, f"collection {target}")
        self._open(version)

    def info(self) -> Info:
        version = self._version()
        meta = version.meta
        vectors = meta.vectors if meta.vectors and meta.vectors.count else None
        return Info(
            engine="elasticsearch",
            count=meta.count,
            language=meta.language,
            analyzer=meta.analyzer,
            fields=("title", "text"),
            checksum=meta.checksum,
            encoder=vectors.encoder if vectors else None,
            vectors=vectors.count if vectors else 0,
            capabilities=CAPABILITIES,
            k1=version.k1,
            b=version.b,
        )

    def check(self, params: SearchParams) -> None:
        """:raises InputError: also for a k1 or b other than the index's."""
        refuse_unknown(params, self.info(), f"collection {self.target}")

    def search(
        self,
        queries: Sequence[Query],
        k: int,
        params: SearchParams,
        texts: int = 20,
    ) -> list[Ranking]:
        """See :class:`convqa.stores.base.Store`. k1 and b are the index's; passages with score 0 are left out."""
        self.check(params)
        wanted = [self._query(query, params) for query in queries]
        return rankings(best(self._passages, wanted, k), k, texts, self.fetch)

    def search_vectors(
        self,
        matrix: Matrix,
        k: int,
        encoder: Encoder,
        texts: int = 20,
        filter: Filter | None = None,
    ) -> list[Ranking]:
        """See :class:`convqa.stores.base.Store`. The server computes inner products in float32."""
        name = f"collection {self.target}"
        refuse_encoder(encoder, self.info(), name)
        rows = checked_vectors(matrix, None, encoder, f"queries of {name}")
        accepted = filtered(filter)
        bodies = [{"size": hits_asked(k), **BARE, "knn": nearest(row, k) | accepted} for row in rows]
        answers = self._neighbors.search(bodies)
        matches = [[(inner_product(score), id) for score, id in scored(hits)] for hits in answers]
        self._refuse_other_vectors()
        return rankings(matches, k, texts, self.fetch)

    def vectors(self, ids: Ids) -> list[Floats | None]:
        if self.info().encoder is None:
            return [None] * len(ids)
        keys = [document_id(id) for id in ids]
        # Vectors are not in _source. A script reads them exactly, as 32-bit floats.
        body: dict[str, Any] = {
            "size": _VECTORS_PER_SEARCH,
            "_source": False,
            "script_fields": {"vector": {"script": "doc['vector'].vectorValue"}},
        }
        pieces = slices(sorted(set(keys)), _VECTORS_PER_SEARCH)
        queries = [{"ids": {"values": piece}} for piece in pieces]
        answers = self._neighbors.search([body | {"query": query} for query in queries])
        self._refuse_other_vectors()
        hits = chain.from_iterable(answers)
        vectors = {hit["_id"]: np.array(hit["fields"]["vector"][0], np.float32) for hit in hits}
        return [vectors.get(key) for key in keys]

    def fetch(self, ids: Ids) -> list[Passage | None]:
        self._version()
        keys = [document_id(id) for id in ids]
        sources = self._passages.documents(sorted(set(keys)))
        return [Passage.from_json(sources[key]["passage"]) if key in sources else None for key in keys]

    def scan(self) -> Iterator[Passage]:
        self._version()
        return (Passage.from_json(hit["_source"]["passage"]) for hit in self._passages.scan())

    def without_vectors(self) -> Iterator[Passage]:
        has_vectors = self._version().meta.vectors is not None
        hits = self._passages.scan()
        while page := list(islice(hits, _PASSAGES_PER_REQUEST)):
            keys = [hit["_id"] for hit in page] if has_vectors else []
            existing = self._neighbors.documents(keys, ())
            for hit in page:
                if hit["_id"] not in existing:
                    yield Passage.from_json(hit["_source"]["passage"])

    def commit(self) -> None:
        if self._writer is None:
            return
        with self._transaction() as writer:
            assert isinstance(writer, BulkWriter)
            self._open(writer.commit())
            if isinstance(writer, Change):
                self._writer = None

    def close(self) -> None:
        """Close the collection and drop what was not committed. Connections belong to the process and stay open."""
        self._drop()
        self._current = None

    @property
    def closed(self) -> bool:
        return self._current is None

    def _query(self, query: Query, params: SearchParams) -> dict[str, Any]:
        weight_of = weigh(query, self._words, params.stopwords)
        check_weights(weight_of.values(), query)
        # Elasticsearch multiplies by k1 + 1.
        factor = self._version().k1 + 1
        boosts = [{"value": token, "boost": weight / factor} for token, weight in weight_of.items()]
        terms = [{"term": {"tokens": boost}} for boost in boosts]
        if not terms:
            return NOTHING
        return {"bool": {"should": terms, "minimum_should_match": 1, **filtered(params.filter)}}

    def _open(self, version: Version) -> None:
        self._current = version
        self._passages = ServerIndex(self.target, version.name)
        self._neighbors = self._passages.vectors

    def _version(self) -> Version:
        if self._current is None:
            raise WorkError(f"collection {self.target} is closed")
        return self._current

    def _refuse_other_vectors(self) -> None:
        """Raise a ``RunError`` if another process has changed the vectors of the open version."""
        if self._writer is None:
            current_version(self.target, self._version())

    def _begin(self) -> Transaction:
        return Change(self.target, self._version())
