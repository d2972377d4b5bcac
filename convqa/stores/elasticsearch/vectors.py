"""The index of the vectors of passages, under the same ``_id``.

A document has ``pid``, ``vector`` and, for filters, the ``meta`` terms of its passage; the last two are not in
``_source``. Scores are inner products, those of vectors in the form of Elasticsearch's ``max_inner_product``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

import orjson

from convqa.errors import InputError
from convqa.stores.base import Encoder, Floats, Ids, Matrix, VectorOptions
from convqa.stores.checks import checked_vectors, vectors_kept
from convqa.stores.content import meta_term
from convqa.stores.elasticsearch.bulk import Sender, slices
from convqa.stores.elasticsearch.client import ask
from convqa.stores.elasticsearch.index import Index
from convqa.stores.elasticsearch.reading import Reader
from convqa.stores.elasticsearch.schema import Item, VectorMeta, document_id, vectors_of
from convqa.stores.elasticsearch.weights import FIELD, by_token
from convqa.validation import shorten

ROWS = 500

_KINDS = {"float32": "", "int8": "int8_", "bit": "bbq_"}
"""Precision -> prefix of the types of Elasticsearch's vector indexes."""


class VectorWriter:
    """Adds vectors to the passages of an index. ``add`` checks them, and ``flush`` sends them."""

    def __init__(self, passages: Index, meta: VectorMeta | None) -> None:
        self._passages, self._meta = passages, meta
        self._waiting: list[tuple[str, Floats | orjson.Fragment, list[str]]] = []
        self._index = Index(passages.target, vectors_of(passages.name))
        self._sender = Sender(passages.target, self._index.name)
        self._exists = meta is not None

    def add(self, ids: Ids, matrix: Matrix, encoder: Encoder, options: VectorOptions | None) -> None:
        place = f"collection {self._passages.target}"
        rows = checked_vectors(matrix, len(ids), encoder, f"{place}, passages {shorten(list(ids))}")
        known = None if self._meta is None else (self._meta.encoder, self._meta.options)
        made_by = vectors_kept(known, encoder, options, _KINDS, place)
        meta = self._meta or VectorMeta(*made_by)
        terms = self._terms(ids)
        # A row of weights has the length of the vocabulary, and few entries.
        kept = (orjson.Fragment(orjson.dumps(by_token(row))) for row in rows) if encoder.sparse else rows
        self._waiting += zip(ids, kept, terms, strict=True)
        self._meta = meta

    def flush(self) -> None:
        """Send what was added. Searches see it after ``commit``."""
        if self._meta is not None and not self._exists:
            # A load that ended before its first commit may have left an index.
            self._index.delete()
            self._index.create(self._settings(), _mappings(self._meta))
            self._exists = True
        for piece in slices(self._waiting, ROWS):
            # The last vector of a passage counts.
            items = {id: _item(id, row, terms) for id, row, terms in piece}
            self._sender.send("index", list(items.values()))
        self._waiting = []

    def move(self, other: VectorWriter) -> None:
        """Hand over what was added to the writer of another index."""
        other._meta, other._waiting = self._meta, self._waiting

    def delete(self, ids: Ids) -> None:
        self.flush()
        if self._exists:
            self._sender.send("delete", [Item(document_id(id), id) for id in ids])

    def commit(self) -> VectorMeta | None:
        """Let searches see what was added. Return the metadata for the index of passages."""
        self.flush()
        if self._meta is not None:
            self._index.refresh()
            self._meta = replace(self._meta, count=self._index.count(), commits=self._meta.commits + 1)
        return self._meta

    def _settings(self) -> dict[str, Any]:
        name = self._passages.name
        answer = ask(self._passages.target, lambda es: es.indices.get_settings(index=name))
        index = answer.body[name]["settings"]["index"]
        kept = {setting: index[setting] for setting in ("number_of_shards", "number_of_replicas")}
        return {**kept, "refresh_interval": "-1"}

    def _terms(self, ids: Ids) -> Iterator[list[str]]:
        """Return the meta terms of passages; refuse unknown passages."""
        keys = [document_id(id) for id in ids]
        reader = Reader(self._passages.target, self._passages.name)
        sources = reader.documents([key for key in keys if key], ("passage.meta",), realtime=True)
        for id, key in zip(ids, keys, strict=True):
            if key not in sources:
                raise InputError(
                    f"there is no passage {id!r} in collection {self._passages.target}: add passages before their "
                    "vectors."
                )
        metas = (sources[key].get("passage", {}).get("meta", {}) for key in keys)
        return ([meta_term(name, value) for name, value in meta.items()] for meta in metas)


def without_vectors(passages: Reader, vectors: Reader | None) -> Iterator[Mapping[str, Any]]:
    """Yield the visible passages without a visible vector as hits. ``vectors`` reads their index, if it exists."""
    hits = passages.scan()
    while page := list(islice(hits, ROWS)):
        existing = vectors.documents([hit["_id"] for hit in page], ()) if vectors is not None else {}
        yield from (hit for hit in page if hit["_id"] not in existing)


def _mappings(meta: VectorMeta) -> dict[str, Any]:
    if meta.encoder.sparse:
        vector: dict[str, Any] = FIELD
    else:
        kind = "flat" if meta.options.index == "exact" else "hnsw"
        vector = {
            "type": "dense_vector",
            "dims": meta.encoder.dimension,
            "similarity": "max_inner_product",
            "index_options": {"type": _KINDS[meta.options.precision] + kind},
        }
    return {
        "dynamic": False,
        "_source": {"excludes": ["vector", "meta"]},
        "properties": {
            "pid": {"type": "keyword", "index": False, "doc_values": True},
            "meta": {"type": "keyword", "doc_values": False},
            "vector": vector,
        },
    }


def _item(id: str, row: Floats | orjson.Fragment, terms: list[str]) -> Item:
    source = {"pid": id, "vector": row, "meta": terms}
    return Item(document_id(id), id, orjson.dumps(source, option=orjson.OPT_SERIALIZE_NUMPY))
