"""The index of the vectors of passages, under the same ``_id``.

A document has ``pid``, ``vector`` and, for filters, the ``meta`` terms of its passage; the last two are not in
``_source``. Scores are inner products, those of vectors in the form of Elasticsearch's ``max_inner_product``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from convqa.errors import InputError
from convqa.stores.base import Encoder, Ids, Matrix, VectorOptions
from convqa.stores.checks import checked_vectors, vectors_kept
from convqa.stores.content import meta_term
from convqa.stores.elasticsearch.bulk import Document, slices
from convqa.stores.elasticsearch.index import ServerIndex
from convqa.stores.elasticsearch.schema import META_TERMS, PASSAGE_ID, VectorMeta, Version, document_id, vectors_of
from convqa.stores.elasticsearch.weights import FIELD, by_token
from convqa.validation import shorten

ROWS_PER_REQUEST = 500

_PREFIX_OF_TYPE = {"float32": "", "int8": "int8_", "bit": "bbq_"}
"""Precision -> prefix of the types of Elasticsearch's vector indexes."""


class VectorIndexWriter:
    """Adds vectors to the passages of an index. ``add`` checks them, and ``flush`` sends them."""

    def __init__(self, passages: ServerIndex, version: Version) -> None:
        self._passages = passages
        self._meta = version.meta.vectors
        self._settings = {
            "number_of_shards": version.shards,
            "number_of_replicas": version.replicas,
            "refresh_interval": "-1",
        }
        self._waiting: list[Document] = []
        self._index = ServerIndex(passages.target, vectors_of(passages.name))
        self._exists = self._meta is not None

    def add(self, ids: Ids, matrix: Matrix, encoder: Encoder, options: VectorOptions | None) -> None:
        name = f"collection {self._passages.target}"
        rows = checked_vectors(matrix, len(ids), encoder, f"{name}, passages {shorten(list(ids))}")
        known = None if self._meta is None else (self._meta.encoder, self._meta.options)
        encoder_and_options = vectors_kept(known, encoder, options, _PREFIX_OF_TYPE, name)
        terms = self._meta_terms(ids)
        self._meta = self._meta or VectorMeta(*encoder_and_options)
        for id, row, passage_terms in zip(ids, rows, terms, strict=True):
            source = {
                "pid": id,
                "vector": by_token(row) if encoder.sparse else row,
                "meta": passage_terms,
            }
            self._waiting.append(Document(document_id(id), id, source))

    def flush(self) -> None:
        """Send what was added. Searches see it after ``commit``."""
        if self._meta is not None and not self._exists:
            # A load that ended before its first commit may have left an index.
            self._index.delete()
            self._index.create(self._settings, _mappings(self._meta))
            self._exists = True
        for piece in slices(self._waiting, ROWS_PER_REQUEST):
            # The last vector of a passage counts.
            document_of = {document.key: document for document in piece}
            self._index.send("index", list(document_of.values()))
        self._waiting = []

    def move(self, other: VectorIndexWriter) -> None:
        """Hand over what was added to the writer of another index."""
        other._meta = self._meta
        other._waiting = self._waiting

    def delete(self, ids: Ids) -> None:
        self.flush()
        if self._exists:
            self._index.send("delete", [Document(document_id(id), id) for id in ids])

    def commit(self) -> VectorMeta | None:
        """Let searches see what was added. Return the metadata for the index of passages."""
        self.flush()
        if self._meta is not None:
            self._index.refresh()
            self._meta = replace(self._meta, count=self._index.count(), commits=self._meta.commits + 1)
        return self._meta

    def _meta_terms(self, ids: Ids) -> list[list[str]]:
        """Return the meta terms of passages; refuse unknown passages."""
        keys = [document_id(id) for id in ids]
        sources = self._passages.documents([key for key in keys if key], ("passage.meta",), realtime=True)
        terms = []
        for id, key in zip(ids, keys, strict=True):
            if key not in sources:
                raise InputError(
                    f"there is no passage {id!r} in collection {self._passages.target}: add passages before their "
                    "vectors."
                )
            meta = sources[key].get("passage", {}).get("meta", {})
            terms.append([meta_term(name, value) for name, value in meta.items()])
        return terms


def without_vectors(passages: ServerIndex, vectors: ServerIndex | None) -> Iterator[Mapping[str, Any]]:
    """Yield the visible passages without a visible vector as hits. ``vectors`` reads their index, if it exists."""
    hits = passages.scan()
    if vectors is None:
        yield from hits
        return
    while page := list(islice(hits, ROWS_PER_REQUEST)):
        keys = [hit["_id"] for hit in page]
        existing = vectors.documents(keys, ())
        for hit in page:
            if hit["_id"] not in existing:
                yield hit


def _mappings(meta: VectorMeta) -> dict[str, Any]:
    vector: dict[str, Any] = FIELD
    if not meta.encoder.sparse:
        structure = "flat" if meta.options.index == "exact" else "hnsw"
        vector = {
            "type": "dense_vector",
            "dims": meta.encoder.dimension,
            "similarity": "max_inner_product",
            "index_options": {"type": _PREFIX_OF_TYPE[meta.options.precision] + structure},
        }
    return {
        "dynamic": False,
        "_source": {"excludes": ["vector", "meta"]},
        "properties": {
            "pid": PASSAGE_ID,
            "meta": META_TERMS,
            "vector": vector,
        },
    }
