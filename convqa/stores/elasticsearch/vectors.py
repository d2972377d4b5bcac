"""Vectors of passages: an index of their own beside that of the passages, under the same ``_id``.

A document has ``pid``, the ``meta`` terms of its passage, for filters, and ``vector``; the last two are not kept in
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
from convqa.stores.checks import checked_vectors, refuse_other_vectors
from convqa.stores.content import meta_term
from convqa.stores.elasticsearch.bulk import Sender, slices
from convqa.stores.elasticsearch.client import ask
from convqa.stores.elasticsearch.index import Index
from convqa.stores.elasticsearch.reading import Reader
from convqa.stores.elasticsearch.schema import Item, VectorMeta, document_id, vectors_of
from convqa.stores.elasticsearch.weights import FIELD, by_token
from convqa.validation import shorten

ROWS = 500
"""Vectors of one request."""

_KINDS = {"float32": "", "int8": "int8_", "bit": "bbq_"}
"""The beginning of the names of Elasticsearch's kinds of vector indexes, by precision."""


class VectorWriter:
    """Gives the passages of an index their vectors. Each is checked when it is added, and sent by ``flush``."""

    def __init__(self, passages: Index, meta: VectorMeta | None) -> None:
        self._passages, self._meta = passages, meta
        self._waiting: list[tuple[str, Floats | orjson.Fragment, list[str]]] = []
        self._index = Index(passages.target, vectors_of(passages.name))
        self._sender = Sender(passages.target, self._index.name)
        self._exists = meta is not None

    def add(self, ids: Ids, matrix: Matrix, encoder: Encoder, options: VectorOptions | None) -> None:
        """See :class:`convqa.stores.base.WritableStore`."""
        place = f"collection {self._passages.target}"
        rows = checked_vectors(matrix, len(ids), encoder, f"{place}, passages {shorten(list(ids))}")
        meta = self._meta or VectorMeta(encoder, options or VectorOptions())
        if meta.encoder.sparse and meta.options != VectorOptions():
            raise InputError(f"{place}: token weights are kept in one way only: leave the options out.")
        if meta.options.precision not in _KINDS:
            kinds = ", ".join(_KINDS)
            raise InputError(f"Elasticsearch keeps no vectors as {meta.options.precision}; it can as {kinds}.")
        refuse_other_vectors(meta.encoder, meta.options, encoder, options, place)
        terms = self._terms(ids)
        # A row of weights is as long as the vocabulary, and nearly empty.
        kept = (orjson.Fragment(orjson.dumps(by_token(row))) for row in rows) if encoder.sparse else rows
        self._waiting += zip(ids, kept, terms, strict=True)
        self._meta = meta

    def flush(self) -> None:
        """Send what was added. No search sees it before ``commit``."""
        if self._meta is not None and not self._exists:
            # One that was cut off before its first commit may have left an index.
            self._index.delete()
            self._index.create(self._settings(), _mappings(self._meta))
            self._exists = True
        for piece in slices(self._waiting, ROWS):
            # Of one that was given twice, the last stays.
            latest = {id: _item(id, row, terms) for id, row, terms in piece}
            self._sender.send("index", list(latest.values()))
        self._waiting = []

    def move(self, other: VectorWriter) -> None:
        """Leave what was added to a writer of another index."""
        other._meta, other._waiting = self._meta, self._waiting

    def delete(self, ids: Ids) -> None:
        """Remove the vectors of passages that are deleted."""
        self.flush()
        if self._exists:
            self._sender.send("delete", [Item(document_id(id), id) for id in ids])

    def commit(self) -> VectorMeta | None:
        """Let searches see what was added. Returns what the passages' index is to say of its vectors."""
        self.flush()
        if self._meta is not None:
            self._index.refresh()
            self._meta = replace(self._meta, count=self._index.count(), commits=self._meta.commits + 1)
        return self._meta

    def _settings(self) -> dict[str, Any]:
        name = self._passages.name
        answer = ask(self._passages.target, lambda known: known.indices.get_settings(index=name))
        index = answer.body[name]["settings"]["index"]
        kept = {setting: index[setting] for setting in ("number_of_shards", "number_of_replicas")}
        return {**kept, "refresh_interval": "-1"}

    def _terms(self, ids: Ids) -> Iterator[list[str]]:
        """The meta terms of passages, all of which are there."""
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
    """The visible passages, as hits, that have no visible vector. ``vectors``: their index, if there is one."""
    hits = passages.scan()
    while page := list(islice(hits, ROWS)):
        found = vectors.documents([hit["_id"] for hit in page], ()) if vectors is not None else {}
        yield from (hit for hit in page if hit["_id"] not in found)


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
