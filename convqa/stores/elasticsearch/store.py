"""A collection in Elasticsearch that convqa made: an index behind an alias, which is resolved once, at opening."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.domain import Passage, Query, Ranking
from convqa.errors import InputError, StoreDamaged, WorkError
from convqa.stores.base import Encoder, Info, SearchParams, VectorOptions, refuse_encoder
from convqa.stores.elasticsearch.connect import Target
from convqa.stores.elasticsearch.index import Index
from convqa.stores.elasticsearch.msearch import Searches
from convqa.stores.elasticsearch.params import refuse
from convqa.stores.elasticsearch.passages import fetch, passage, scan
from convqa.stores.elasticsearch.schema import Record, VectorRecord, vectors_of
from convqa.stores.elasticsearch.search import Texts, Vectors, checked
from convqa.stores.elasticsearch.vectors import without_vectors
from convqa.stores.elasticsearch.writer import Writer
from convqa.text.analysis import analyzer

ENGINE = "elasticsearch"
CAPABILITIES = frozenset({"stopwords", "filter", "write", "vectors"})

_PATIENCE = 10.0
"""Seconds for which a commit of another process, which is seen before it is recorded, may go on."""
_POLL = 0.25


@dataclass(frozen=True, slots=True)
class State:
    """What an index says about its passages and their vectors."""

    record: Record
    vectors: VectorRecord | None

    @classmethod
    def read(cls, index: Index) -> State:
        """:raises InputError: if convqa did not make the index, or a later version did, or it is not whole yet."""
        record = Record.of(index.meta(), index.name)
        if not record.ready:
            raise InputError(
                f"index {index.name} at {index.target.http} is not whole: it is being built, or its building was cut "
                "off. Run the same convqa index again, which goes on with it."
            )
        beside = Index(index.target, vectors_of(index.name))
        return cls(record, VectorRecord.of(beside.meta(), beside.name) if beside.exists() else None)


class Elasticsearch:
    """A collection that convqa made. Searches from many threads at once are safe; writing is one thread's work.

    It keeps to the index that the alias meant when it was opened. An add, delete or commit that raises drops everything
    since the last commit. What another process commits to the same index is found by searches from then on, and told by
    ``info`` when the collection is opened anew.

    :param target: the collection. :param name: the index that its alias means. :param shards: of the index.
    :raises InputError: see :meth:`State.read`.
    :raises StoreDamaged: if it has not the passages that it should have. Where an add was cut off, it is raised by what
        reads passages; the next ``add`` and ``commit`` mend it.
    """

    def __init__(self, target: Target, name: str, shards: int) -> None:
        self.target = target
        self._index = Index(target, name)
        self._searches = Searches(target, name, dfs=shards > 1)
        self._neighbours = Searches(target, vectors_of(name))
        self._writer: Writer | None = None
        with self._searches.reading():
            state, self._cut_off = _whole(self._index)
        self._current: State | None = state
        self._words = _analyzer(state.record, target)

    def info(self) -> Info:
        state = self._state()
        record, vectors = state.record, state.vectors
        return Info(
            engine=ENGINE,
            count=record.count,
            language=record.language,
            analyzer=record.analyzer,
            fields=("title", "text"),
            checksum=record.checksum,
            encoder=vectors.encoder if vectors and vectors.count else None,
            vectors=vectors.count if vectors else 0,
            capabilities=CAPABILITIES,
            k1=record.k1,
            b=record.b,
        )

    def check(self, params: SearchParams) -> None:
        """:raises InputError: for another k1 or b than the index was made with, too; it says how to go on."""
        refuse(params, self.info(), f"collection {self.target}", changeable=True)

    def search(self, queries: Sequence[Query], k: int, params: SearchParams, texts: int = 20) -> list[Ranking]:
        """See :class:`convqa.stores.base.Store`. k1 and b are the index's; passages that score 0 are no hits."""
        self.check(params)
        with self._searches.reading():
            return Texts(self._searches, self._words, self._sound().record.k1).search(queries, k, params, texts)

    def search_vectors(
        self, matrix: NDArray[np.floating[Any]], k: int, encoder: Encoder, texts: int = 20
    ) -> list[Ranking]:
        """See :class:`convqa.stores.base.Store`. Scores are inner products as the server computes them (float32).

        :raises InputError: also for a query that is no vector of the encoder.
        """
        place = f"collection {self.target}"
        refuse_encoder(encoder, self.info(), place)
        vectors = self._sound().vectors
        assert vectors is not None
        rows = checked(matrix, encoder, f"queries of {place}")
        with self._searches.reading():
            return Vectors(self._searches, self._neighbours, vectors.options).search(rows, k, texts)

    def fetch(self, ids: Sequence[str]) -> list[Passage | None]:
        self._sound()
        with self._searches.reading():
            return fetch(self._searches, ids)

    def scan(self) -> Iterator[Passage]:
        """All passages, in the state of now, whatever is committed meanwhile."""
        self._sound()
        return self._scan()

    def _scan(self) -> Iterator[Passage]:
        with self._searches.reading():
            for hit in scan(self._searches):
                yield passage(hit["_source"], self._searches)

    def without_vectors(self) -> Iterator[Passage]:
        self._sound()
        return self._without_vectors()

    def _without_vectors(self) -> Iterator[Passage]:
        with self._searches.reading():
            yield from without_vectors(self._index)

    def add(self, passages: Iterable[Passage]) -> None:
        """Add passages; one that is there already, word for word, is skipped.

        :raises InputError: for an id that is there with another content.
        """
        with self._transaction() as writer:
            writer.add(passages)

    def delete(self, ids: Sequence[str]) -> None:
        with self._transaction() as writer:
            writer.delete(ids)

    def add_vectors(
        self,
        ids: Sequence[str],
        matrix: NDArray[np.floating[Any]],
        encoder: Encoder,
        options: VectorOptions | None = None,
    ) -> None:
        """See :class:`convqa.stores.base.WritableStore`. The texts stay as they are.

        :raises InputError: also for what is no vector of the encoder, or a precision that this engine lacks.
        """
        with self._transaction() as writer:
            writer.add_vectors(ids, matrix, encoder, options)

    def commit(self) -> None:
        if self._writer is None:
            return
        with self._transaction() as writer:
            writer.commit()
            self._writer = None
        self._current, self._cut_off = State.read(self._index), None

    def close(self) -> None:
        """Let go; what was not committed is dropped. The connections are the process's, and stay."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        self._current = None

    @property
    def closed(self) -> bool:
        return self._current is None

    def _state(self) -> State:
        state = self._current
        if state is None:
            raise WorkError(f"collection {self.target} is closed")
        return state

    def _sound(self) -> State:
        """The state, of a collection whose passages can be relied on."""
        state = self._state()
        if self._cut_off is not None:
            raise self._cut_off
        return state

    @contextmanager
    def _transaction(self) -> Iterator[Writer]:
        self._state()
        writer = self._writer = self._writer or Writer(self.target, self._index.name)
        try:
            yield writer
        except BaseException:
            self._writer = None
            writer.close()
            raise


def _whole(index: Index) -> tuple[State, StoreDamaged | None]:
    """The state of an index, and what is wrong with it while a change that was cut off waits to be mended.

    :raises StoreDamaged: for one that has another number of passages than it says, though nobody is changing it.
    """
    deadline = time.monotonic() + _PATIENCE
    while True:
        before, count, state = index.meta(), index.count(), State.read(index)
        if count == state.record.count:
            return state, None
        if before == index.meta() and (not state.record.writing or time.monotonic() > deadline):
            damage = StoreDamaged(
                f"collection {index.target} says that it has {state.record.count} passages, and {count} are there: "
                "a change was cut off. Repeat the same convqa index --add, which mends it, or build it anew with "
                "--replace."
            )
            if state.record.writing:
                return state, damage
            raise damage
        time.sleep(_POLL)


def _analyzer(record: Record, target: Target) -> Any:
    found = analyzer(record.language)
    if found.name != record.analyzer:
        raise InputError(
            f"collection {target} was analysed by {record.analyzer}; this version of convqa has {found.name}. "
            "Index its passages again with --replace."
        )
    return found
