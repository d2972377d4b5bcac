"""A collection while it is made: written to as any other, read as far as it was committed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from convqa.stores.elasticsearch.build import Build
from convqa.stores.elasticsearch.index import Index
from convqa.stores.elasticsearch.msearch import Searches
from convqa.stores.elasticsearch.schema import Record, VectorRecord, vectors_of
from convqa.stores.elasticsearch.store import Elasticsearch, State
from convqa.text.analysis import analyzer


class Building(Elasticsearch):
    """What the block of ``create`` writes to. ``close`` does not drop anything: the block's end does."""

    def __init__(self, build: Build, index: Index, record: Record, shards: int) -> None:
        # Not as the parent, which opens what is whole.
        self.target = index.target
        self._index = index
        self._searches = Searches(index.target, index.name, dfs=shards > 1)
        self._neighbours = Searches(index.target, vectors_of(index.name))
        self._writer = None
        self._words = analyzer(record.language)
        self._build = build
        self._current: State | None = State(record, None)

    def commit(self) -> None:
        record = self._build.commit()
        beside = Index(self.target, vectors_of(self._index.name))
        vectors = VectorRecord.of(beside.meta(), beside.name) if beside.exists() else None
        self._current = State(record, vectors)

    @contextmanager
    def _transaction(self) -> Iterator[Build]:  # type: ignore[override]
        self._state()
        yield self._build
