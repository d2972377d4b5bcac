"""A collection while it is made: written to as any other, read as far as it was committed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from convqa.stores.elasticsearch.build import Build
from convqa.stores.elasticsearch.index import Index
from convqa.stores.elasticsearch.schema import Record, VectorRecord, vectors_of
from convqa.stores.elasticsearch.state import State
from convqa.stores.elasticsearch.store import Elasticsearch
from convqa.stores.writing import Transaction


class Building(Elasticsearch):
    """What the block of ``create`` writes to. ``close`` does not drop anything: the block's end does."""

    def __init__(self, build: Build, index: Index, record: Record, shards: int) -> None:
        super().__init__(index.target, index.name, shards, State(record, None, record.k1, record.b))
        self._build = build

    def commit(self) -> None:
        record = self._build.commit()
        beside = Index(self.target, vectors_of(self._index.name))
        vectors = VectorRecord.of(beside.meta(), beside.name) if beside.exists() else None
        self._current = State(record, vectors, record.k1, record.b)

    @contextmanager
    def _transaction(self) -> Iterator[Transaction]:
        self._state()
        yield self._build
