"""A collection in Elasticsearch that convqa made: the version at the time of opening."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import orjson

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
from convqa.stores.elasticsearch.index import look_up
from convqa.stores.elasticsearch.reading import Reader
from convqa.stores.elasticsearch.schema import Version, document_id, is_text, vectors_of
from convqa.stores.elasticsearch.search import (
    BARE,
    SCORED,
    asked,
    best,
    filtered,
    inner_product,
    nearest,
    rankings,
    scored,
)
from convqa.stores.elasticsearch.target import Target
from convqa.stores.elasticsearch.vectors import without_vectors
from convqa.stores.elasticsearch.writer import Build, Change
from convqa.text.analysis import weigh

ENGINE = "elasticsearch"
_NUMPY = orjson.OPT_SERIALIZE_NUMPY
_VECTORS = 200
"""Vectors read by one search: 1 MB at 384 dimensions."""
CAPABILITIES = frozenset({"stopwords", "filter", "write", "vectors", "sparse"})


class Elasticsearch(Writing):
    """A collection that convqa made. Many threads may search at once; only one may write.

    It reads the version that was current when it was opened, or that it committed. A change by another process makes
    a new version and removes this one: reading then raises a ``RunError``. An add, delete or commit that raises drops
    everything since the last commit.

    :raises InputError: for a version analysed by another version of convqa.
    """

    _current: Version | None = None

    def __init__(self, target: Target, version: Version) -> None:
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
        with self._passages.reading():
            return rankings(best(self._passages, wanted, k), k, texts, self._fetch)

    def search_vectors(
        self, matrix: Matrix, k: int, encoder: Encoder, texts: int = 20, filter: Filter | None = None
    ) -> list[Ranking]:
        """See :class:`convqa.stores.base.Store`. The server computes inner products in float32."""
        place = f"collection {self.target}"
        refuse_encoder(encoder, self.info(), place)
        rows = checked_vectors(matrix, None, encoder, f"queries of {place}")
        meta = self._version().meta.vectors
        assert meta is not None
        with self._reading_vectors():
            if encoder.sparse:
                queries = [{"bool": {"must": weights.query(row), **filtered(filter)}} for row in rows]
                matches = best(self._neighbours, queries, k)
            else:
                near = [nearest("vector", row, k, meta.options.precision) | filtered(filter) for row in rows if k > 0]
                bodies = [{"size": asked(k), **BARE, "docvalue_fields": ["pid"], "knn": knn} for knn in near]
                found = self._neighbours.search([orjson.dumps(body, option=_NUMPY) for body in bodies], SCORED)
                matches = [[(inner_product(score), id) for score, id in scored(answer)] for answer in found]
            return rankings(matches or [[]] * len(rows), k, texts, self._fetch)

    def vectors(self, ids: Ids) -> list[Floats | None]:
        encoder = self.info().encoder
        if encoder is None:
            return [None] * len(ids)
        keys = [document_id(id) for id in ids]
        distinct = sorted({key for key in keys if key})
        # They are not in _source: a script reads them exactly, as 32-bit floats. Token weights are a stored field.
        script = {"script_fields": {"vector": {"script": "doc['vector'].vectorValue"}}}
        wanted = {"size": _VECTORS, "_source": False, **({"fields": ["vector"]} if encoder.sparse else script)}
        bodies = [orjson.dumps({**wanted, "query": {"ids": {"values": chunk}}}) for chunk in slices(distinct, _VECTORS)]
        with self._reading_vectors():
            answers = self._neighbours.search(bodies, ("hits.hits._id", "hits.hits.fields"))
        hits = [hit for answer in answers for hit in answer.get("hits", {}).get("hits", ())]
        row_of = {hit["_id"]: _vector(hit, encoder) for hit in hits}
        return [row_of.get(key) for key in keys]

    def fetch(self, ids: Ids) -> list[Passage | None]:
        self._version()
        with self._passages.reading():
            return self._fetch(ids)

    def scan(self) -> Iterator[Passage]:
        self._version()
        return self._pages(self._passages.scan())

    def compare(self) -> Check:
        """Compare all passages with the collection's checksum."""
        meta, count, sum = self._version().meta, 0, 0
        for stored in self.scan():
            count, sum = count + 1, sum + digest(content(stored))
        problem = f"{count} passages with the checksum {checksum(sum)}; written were {meta.count} with {meta.checksum}"
        is_same = (count, checksum(sum)) == (meta.count, meta.checksum)
        unchecked = "" if meta.vectors is None else "vectors, of which Elasticsearch keeps checksums of its own"
        return Check(f"{count} passages", () if is_same else (problem,), unchecked)

    def without_vectors(self) -> Iterator[Passage]:
        has_vectors = self._version().meta.vectors is not None
        return self._pages(without_vectors(self._passages, self._neighbours if has_vectors else None))

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

    def _query(self, query: Query, params: SearchParams) -> dict[str, Any] | None:
        weight_of = weigh(query, self._words, params.stopwords)
        check_weights(weight_of.values(), query)
        # Elasticsearch multiplies by k1 + 1.
        factor = self._version().k1 + 1
        terms = [
            {"term": {"tokens": {"value": token, "boost": weight / factor}}}
            for token, weight in weight_of.items()
            if is_text(token)
        ]
        return {"bool": {"should": terms, "minimum_should_match": 1, **filtered(params.filter)}} if terms else None

    def _fetch(self, ids: Ids) -> list[Passage | None]:
        keys = [document_id(id) for id in ids]
        sources = self._passages.documents(list(dict.fromkeys(key for key in keys if key)))
        return [self._passage(sources[key]) if key in sources else None for key in keys]

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
        self._passages = Reader(self.target, version.name, dfs=version.shards > 1)
        self._neighbours = Reader(self.target, vectors_of(version.name))

    def _version(self) -> Version:
        if self._current is None:
            raise WorkError(f"collection {self.target} is closed")
        return self._current

    def _pages(self, hits: Iterator[Any]) -> Iterator[Passage]:
        with self._passages.reading():
            for hit in hits:
                yield self._passage(hit["_source"])

    @contextmanager
    def _reading_vectors(self) -> Iterator[None]:
        """Raise a ``RunError`` if another process has changed the vectors of the open version."""
        version = self._version()
        with self._passages.reading():
            yield
            if self._writer is None and version.meta.ready:
                current = look_up(self.target)
                if current is None or Version.of(*current).mark != version.mark:
                    raise RunError(
                        f"the passages or vectors of collection {self.target} changed since it was opened. Start "
                        "again: one run must not mix two collections."
                    )

    def _begin(self) -> Transaction:
        return Change(self.target, self._version())


def _vector(hit: Mapping[str, Any], encoder: Encoder) -> Floats:
    if encoder.sparse:
        # A passage without weights has no field.
        return weights.row_of(hit.get("fields", {"vector": [{}]})["vector"][0], encoder.dimension)
    return np.array(hit["fields"]["vector"][0], np.float32)


class Building(Elasticsearch):
    """A collection that is being made. ``close`` drops nothing; the end of ``create``'s block does."""

    def __init__(self, target: Target, build: Build, version: Version) -> None:
        super().__init__(target, version)
        self._build, self._made = build, version

    def commit(self) -> None:
        self._open(replace(self._made, meta=self._build.commit()))

    @contextmanager
    def _transaction(self) -> Iterator[Transaction]:
        self._version()
        yield self._build
