"""A collection in Elasticsearch that convqa made: the version at the time of opening."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from convqa.domain import Passage, Query, Ranking
from convqa.errors import RunError, StoreDamaged, WorkError
from convqa.stores.base import (
    Check,
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
from convqa.stores.content import checksum, content, digest
from convqa.stores.elasticsearch import weights
from convqa.stores.elasticsearch.bulk import slices
from convqa.stores.elasticsearch.index import ServerIndex, look_up
from convqa.stores.elasticsearch.schema import Version, document_id, is_text, vectors_of
from convqa.stores.elasticsearch.search import (
    BARE,
    NOTHING,
    SCORED,
    best,
    filtered,
    hits_asked,
    hits_of,
    inner_product,
    nearest,
    rankings,
    scored,
)
from convqa.stores.elasticsearch.target import IndexTarget
from convqa.stores.elasticsearch.vectors import without_vectors
from convqa.stores.elasticsearch.writer import Change, IndexWriter
from convqa.text.analysis import weigh

ENGINE = "elasticsearch"
CAPABILITIES = frozenset({"stopwords", "filter", "write", "vectors", "sparse"})
_VECTORS_PER_SEARCH = 200
"""1 MB at 384 dimensions."""


class ElasticsearchCollection(Writing):
    """A collection that convqa made. Many threads may search at once; only one may write.

    It reads the version that was current when it was opened, or that it committed. A change by another process makes
    a new version and removes this one: reading then raises a ``RunError``. An add, delete or commit that raises drops
    everything since the last commit.

    :raises InputError: for a version analyzed by another version of convqa.
    """

    _current: Version | None = None

    def __init__(self, target: IndexTarget, version: Version) -> None:
        self.target = target
        self._words = stored_analyzer(version.meta.language, version.meta.analyzer, f"collection {target}")
        self._open(version)

    def info(self) -> Info:
        version = self._version()
        meta = version.meta
        vectors = meta.vectors if meta.vectors and meta.vectors.count else None
        return Info(
            engine=ENGINE,
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
            vector_options=vectors.options if vectors else None,
        )

    def check(self, params: SearchParams) -> None:
        """:raises InputError: also for a k1 or b other than the index's."""
        refuse_unknown(params, self.info(), f"collection {self.target}")

    def search(self, queries: Sequence[Query], k: int, params: SearchParams, texts: int = 20) -> list[Ranking]:
        """See :class:`convqa.stores.base.Store`. k1 and b are the index's; passages with score 0 are left out."""
        self.check(params)
        wanted = [self._query(query, params) for query in queries]
        return rankings(best(self._passages, wanted, k), k, texts, self.fetch)

    def search_vectors(
        self, matrix: Matrix, k: int, encoder: Encoder, texts: int = 20, filter: Filter | None = None
    ) -> list[Ranking]:
        """See :class:`convqa.stores.base.Store`. The server computes inner products in float32."""
        name = f"collection {self.target}"
        refuse_encoder(encoder, self.info(), name)
        rows = checked_vectors(matrix, None, encoder, f"queries of {name}")
        meta = self._version().meta.vectors
        assert meta is not None
        if encoder.sparse:
            queries = [{"bool": {"must": weights.query(row), **filtered(filter)}} for row in rows]
            matches = best(self._neighbors, queries, k)
        else:
            bodies = []
            for row in rows:
                knn = nearest("vector", row, k, meta.options.precision) | filtered(filter)
                body = {
                    "size": hits_asked(k),
                    **BARE,
                    "knn": knn,
                }
                bodies.append(body)
            answers = self._neighbors.search(bodies, SCORED)
            matches = [[(inner_product(score), id) for score, id in scored(answer)] for answer in answers]
        self._refuse_other_vectors()
        return rankings(matches, k, texts, self.fetch)

    def vectors(self, ids: Ids) -> list[Floats | None]:
        encoder = self.info().encoder
        if encoder is None:
            return [None] * len(ids)
        keys = [document_id(id) for id in ids]
        body: dict[str, Any] = {"size": _VECTORS_PER_SEARCH, "_source": False}
        # Vectors are not in _source. Token weights are a stored field; a script reads others exactly, as 32-bit floats.
        if encoder.sparse:
            body["fields"] = ["vector"]
        else:
            body["script_fields"] = {"vector": {"script": "doc['vector'].vectorValue"}}
        distinct = sorted({key for key in keys if key})
        bodies = [body | {"query": {"ids": {"values": piece}}} for piece in slices(distinct, _VECTORS_PER_SEARCH)]
        answers = self._neighbors.search(bodies, ("hits.hits._id", "hits.hits.fields"))
        self._refuse_other_vectors()
        vector_of = {}
        for answer in answers:
            for hit in hits_of(answer):
                vector_of[hit["_id"]] = _vector(hit, encoder)
        return [vector_of.get(key) for key in keys]

    def fetch(self, ids: Ids) -> list[Passage | None]:
        self._version()
        keys = [document_id(id) for id in ids]
        sources = self._passages.documents(sorted({key for key in keys if key}))
        return [self._passage(sources[key]) if key in sources else None for key in keys]

    def scan(self) -> Iterator[Passage]:
        self._version()
        return self._pages(self._passages.scan())

    def compare(self) -> Check:
        """Compare all passages with the collection's checksum."""
        meta = self._version().meta
        count = digests = 0
        for passage in self.scan():
            count += 1
            digests += digest(content(passage))
        actual = checksum(digests)
        problems = []
        if (count, actual) != (meta.count, meta.checksum):
            problems.append(
                f"{count} passages with the checksum {actual}; written were {meta.count} with {meta.checksum}"
            )
        unchecked = "" if meta.vectors is None else "vectors, of which Elasticsearch keeps checksums of its own"
        return Check(f"{count} passages", tuple(problems), unchecked)

    def without_vectors(self) -> Iterator[Passage]:
        has_vectors = self._version().meta.vectors is not None
        return self._pages(without_vectors(self._passages, self._neighbors if has_vectors else None))

    def commit(self) -> None:
        if self._writer is None:
            return
        with self._transaction() as writer:
            assert isinstance(writer, Change)
            self._open(writer.commit())
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
        terms = []
        for token, weight in weight_of.items():
            if is_text(token):
                term = {"value": token, "boost": weight / factor}
                terms.append({"term": {"tokens": term}})
        if not terms:
            return NOTHING
        match = {
            "should": terms,
            "minimum_should_match": 1,
            **filtered(params.filter),
        }
        return {"bool": match}

    def _passage(self, source: Mapping[str, Any]) -> Passage:
        try:
            return Passage.from_json(source["passage"])
        except (KeyError, TypeError, AttributeError) as error:
            raise StoreDamaged(
                f"index {self._passages.name} at {self.target.http} has a malformed document ({error!r}). Index its "
                "passages again with --replace."
            ) from error

    def _open(self, version: Version) -> None:
        self._current = version
        self._passages = ServerIndex(self.target, version.name, dfs=version.shards > 1)
        self._neighbors = ServerIndex(self.target, vectors_of(version.name))

    def _version(self) -> Version:
        if self._current is None:
            raise WorkError(f"collection {self.target} is closed")
        return self._current

    def _pages(self, hits: Iterator[Any]) -> Iterator[Passage]:
        for hit in hits:
            yield self._passage(hit["_source"])

    def _refuse_other_vectors(self) -> None:
        """Raise a ``RunError`` if another process has changed the vectors of the open version."""
        if self._writer is not None:
            return
        current = look_up(self.target)
        if current is None or Version.of(*current).stamp != self._version().stamp:
            raise RunError(
                f"the passages or vectors of collection {self.target} changed since it was opened. Start again: one "
                "run must not mix two collections."
            )

    def _begin(self) -> Transaction:
        return Change(self.target, self._version())


def _vector(hit: Mapping[str, Any], encoder: Encoder) -> Floats:
    if encoder.sparse:
        # A passage without weights has no field.
        return weights.row_of(hit.get("fields", {"vector": [{}]})["vector"][0], encoder.dimension)
    return np.array(hit["fields"]["vector"][0], np.float32)


class NewCollection(ElasticsearchCollection):
    """A collection that is being made: searches see what was committed, and nobody else sees anything."""

    def __init__(self, target: IndexTarget, writer: IndexWriter, version: Version) -> None:
        super().__init__(target, version)
        self._writer = writer

    def commit(self) -> None:
        with self._transaction() as writer:
            assert isinstance(writer, IndexWriter)
            self._open(replace(self._version(), meta=writer.commit()))

    def _begin(self) -> Transaction:
        raise WorkError(f"collection {self.target}: an earlier change failed, so it cannot be completed.")
