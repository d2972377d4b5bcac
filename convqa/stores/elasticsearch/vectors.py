"""Vectors of passages: an index of their own beside that of the passages, under the same ``_id``.

A document has ``pid``, ``batch``, the ``meta`` terms of its passage, for filters, and ``vector``; the last two are not
kept in ``_source``. Scores are inner products in the
form of Elasticsearch's ``max_inner_product``. A transaction that fails removes its vectors; those that are to take the
place of others wait in a file for its commit, as the server could not give the others back. One that is killed in its
commit may lose some: ``without_vectors`` names their passages.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import IO, Any

import numpy as np
import orjson
from numpy.typing import NDArray

from convqa.domain import MetaValue, Passage
from convqa.errors import InputError
from convqa.stores.base import Encoder, VectorOptions
from convqa.stores.content import meta_term
from convqa.stores.elasticsearch.bulk import Item, Sender, slices
from convqa.stores.elasticsearch.connect import asking
from convqa.stores.elasticsearch.index import Index
from convqa.stores.elasticsearch.msearch import Searches
from convqa.stores.elasticsearch.passages import passage, scan
from convqa.stores.elasticsearch.schema import VectorRecord, document_id, vectors_of

logger = logging.getLogger(__name__)

_ROWS = 500
"""Vectors of one request."""

_PAGE = 1000
_LARGEST = 4096
_SMALLEST_BIT = 64
_KINDS = {
    ("float32", "hnsw"): "hnsw",
    ("float32", "exact"): "flat",
    ("int8", "hnsw"): "int8_hnsw",
    ("int8", "exact"): "int8_flat",
    ("bit", "hnsw"): "bbq_hnsw",
    ("bit", "exact"): "bbq_flat",
}


class VectorWriter:
    """The vectors' part of a transaction.

    :param batch: of the documents that it writes. :param check: called before each request.
    """

    def __init__(self, passages: Index, batch: int, check: Callable[[], None]) -> None:
        self._passages = passages
        self._index = Index(passages.target, vectors_of(passages.name))
        self._batch = batch
        self._sender = Sender(passages.target, self._index.name, check)
        self._record = VectorRecord.of(self._index.meta(), self._index.name) if self._index.exists() else None
        self._created = False
        self._shown = False
        self._keys = bytearray()
        self._waiting: IO[bytes] | None = None
        self._forgotten: set[str] = set()

    def add(
        self,
        ids: Sequence[str],
        matrix: NDArray[np.floating[Any]],
        encoder: Encoder,
        options: VectorOptions | None,
    ) -> None:
        """See :class:`convqa.stores.base.WritableStore`."""
        rows = _checked(ids, matrix, encoder)
        self._prepare(encoder, options)
        for start in range(0, len(ids), _ROWS):
            piece = ids[start : start + _ROWS]
            keys = [document_id(id) for id in piece]
            items = [
                Item(key, id, _document(id, row, self._batch, meta))
                for key, id, row, meta in zip(keys, piece, rows[start : start + _ROWS], self._meta(piece), strict=True)
            ]
            kept = self._committed(keys)
            self._send([item for item in items if item.key not in kept])
            self._wait([item for item in items if item.key in kept])
            self._forgotten.difference_update(keys)

    def forget(self, keys: Sequence[str]) -> None:
        """Remove the vectors of passages that are deleted, when the transaction is committed."""
        if self._record is not None:
            self._forgotten.update(keys)

    def commit(self) -> None:
        """Make them visible."""
        if self._record is None or not (self._keys or self._waiting or self._forgotten):
            return
        self._shown = True
        self._send_waiting()
        for keys in slices(sorted(self._forgotten), _PAGE):
            self._sender.send("delete", [Item(key, key) for key in keys])
        self._count(self._record)
        self._sender.report()

    def undo(self) -> None:
        """Remove what this transaction made."""
        if self._created:
            self._index.delete()
            return
        keys = [self._keys[start : start + 16].hex() for start in range(0, len(self._keys), 16)]
        for piece in slices(keys, _ROWS):
            found = self._index.documents(piece, ("batch",))
            mine = [key for key, source in zip(piece, found, strict=True) if source and source["batch"] == self._batch]
            self._sender.send("delete", [Item(key, key) for key in dict.fromkeys(mine)])
        if self._record is not None and self._shown:
            self._count(self._record)

    def repair(self) -> None:
        """Remove what a killed transaction left."""
        if self._record is not None:
            self._index.quiet()
            self._index.remove_from(self._batch)
            self._count(self._record)

    def close(self) -> None:
        """End; what waits for a commit is dropped."""
        if self._waiting is not None:
            self._waiting.close()

    def _count(self, record: VectorRecord) -> None:
        """Make all visible, and note how many there are."""
        self._index.refresh()
        self._record = replace(record, count=self._index.count())
        self._index.write(self._record)

    def _committed(self, keys: Sequence[str]) -> set[str]:
        """Those under which there is a vector of an earlier transaction."""
        if self._created:
            return set()
        found = self._index.documents(keys, ("batch",))
        return {key for key, source in zip(keys, found, strict=True) if source and source["batch"] != self._batch}

    def _send(self, items: Sequence[Item]) -> None:
        self._keys += bytes.fromhex("".join(item.key for item in items))
        self._sender.send("index", items)

    def _wait(self, items: Sequence[Item]) -> None:
        if items and self._waiting is None:
            self._waiting = tempfile.TemporaryFile()  # noqa: SIM115
        for item in items:
            assert self._waiting is not None
            self._waiting.write(b"\n".join((item.key.encode(), orjson.dumps(item.id), item.body, b"")))

    def _send_waiting(self) -> None:
        if self._waiting is None:
            return
        self._waiting.seek(0)
        lines = (line.rstrip(b"\n") for line in self._waiting)
        items = (Item(key.decode(), orjson.loads(id), body) for key, id, body in zip(lines, lines, lines, strict=True))
        while piece := list(islice(items, _ROWS)):
            self._send(piece)

    def _prepare(self, encoder: Encoder, options: VectorOptions | None) -> None:
        """The index for these vectors: the one that is there, or a new one."""
        found = self._record
        if found is not None and found.count == 0 and not self._created:
            # Its maker was killed before its first commit.
            self._index.delete()
            found = None
        if found is None:
            self._record = VectorRecord(encoder, options or VectorOptions())
            self._index.create(self._settings(), _mappings(self._record))
            self._created = True
        elif found.encoder != encoder:
            raise InputError(
                f"collection {self._passages.target} has vectors of {_named(found.encoder)}; found vectors of "
                f"{_named(encoder)}. Use one encoder for all, or index the passages again with --replace."
            )
        elif options is not None and options != found.options:
            raise InputError(
                f"collection {self._passages.target} keeps vectors as {_shown(found.options)}, not "
                f"{_shown(options)}. Leave the options out, or index the passages again with --replace."
            )

    def _settings(self) -> dict[str, Any]:
        passages = self._passages
        answer = asking(passages.target, lambda: passages.client.indices.get_settings(index=passages.name))
        index = answer.body[passages.name]["settings"]["index"]
        return {
            "number_of_shards": index["number_of_shards"],
            "number_of_replicas": index["number_of_replicas"],
            "refresh_interval": "-1",
        }

    def _meta(self, ids: Sequence[str]) -> list[Mapping[str, MetaValue]]:
        """The meta fields of passages, all of which are there."""
        sources = self._passages.documents([document_id(id) for id in ids], ("passage.meta",))
        found = []
        for id, source in zip(ids, sources, strict=True):
            if source is None:
                raise InputError(
                    f"there is no passage {id!r} in collection {self._passages.target}: add passages before their "
                    "vectors."
                )
            found.append(source.get("passage", {}).get("meta", {}))
        return found


def without_vectors(passages: Index) -> Iterator[Passage]:
    """The visible passages that have no visible vector."""
    searches = Searches(passages.target, passages.name)
    vectors = Index(passages.target, vectors_of(passages.name))
    has_any = vectors.exists()
    hits = scan(searches)
    while page := list(islice(hits, _PAGE)):
        found = vectors.documents([hit["_id"] for hit in page], realtime=False) if has_any else [None] * len(page)
        for hit, vector in zip(page, found, strict=True):
            if vector is None:
                yield passage(hit["_source"], searches)


def _checked(ids: Sequence[str], matrix: NDArray[np.floating[Any]], encoder: Encoder) -> NDArray[np.float32]:
    """Vectors as they are sent.

    :raises InputError: for a shape, dimension or number that does not fit.
    """
    rows = np.ascontiguousarray(matrix, np.float32)
    if rows.shape != (len(ids), encoder.dimension):
        raise InputError(
            f"found vectors of shape {rows.shape} for {len(ids)} passages; wanted: {(len(ids), encoder.dimension)}, "
            f"one row of {encoder.name} for each."
        )
    wrong = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(wrong):
        raise InputError(f"the vector of passage {ids[wrong[0]]!r} has a value that is not finite (NaN or infinity).")
    return rows


def _mappings(record: VectorRecord) -> dict[str, Any]:
    return {
        "dynamic": False,
        "_meta": record.to_json(),
        "_source": {"excludes": ["vector", "meta"]},
        "properties": {
            "pid": {"type": "keyword", "index": False, "doc_values": True},
            "batch": {"type": "integer"},
            "meta": {"type": "keyword", "doc_values": False},
            "vector": {
                "type": "dense_vector",
                "dims": record.encoder.dimension,
                "similarity": "max_inner_product",
                "index_options": {"type": _kind(record)},
            },
        },
    }


def _kind(record: VectorRecord) -> str:
    """The kind of index that keeps vectors so.

    :raises InputError: for what Elasticsearch cannot.
    """
    options, dimension = record.options, record.encoder.dimension
    kind = _KINDS.get((options.precision, "hnsw" if options.index == "auto" else options.index))
    if kind is None:
        raise InputError(f"Elasticsearch keeps no vectors as {options.precision}; it can as float32, int8 or bit.")
    if dimension > _LARGEST:
        raise InputError(f"Elasticsearch takes vectors of at most {_LARGEST} dimensions; found {dimension}.")
    if options.precision == "bit" and dimension < _SMALLEST_BIT:
        raise InputError(
            f"Elasticsearch keeps vectors as bit from {_SMALLEST_BIT} dimensions on; found {dimension}. Use float32 or "
            "int8."
        )
    return kind


def _document(id: str, row: NDArray[np.float32], batch: int, meta: Mapping[str, MetaValue]) -> bytes:
    terms = [meta_term(name, value) for name, value in meta.items()]
    source = {"pid": id, "vector": row, "batch": batch, "meta": terms}
    return orjson.dumps(source, option=orjson.OPT_SERIALIZE_NUMPY)


def _named(encoder: Encoder) -> str:
    return f"{encoder.name} ({encoder.dimension} dimensions, checksum {encoder.checksum[:12]})"


def _shown(options: VectorOptions) -> str:
    return f"{options.precision}, {options.index}"
