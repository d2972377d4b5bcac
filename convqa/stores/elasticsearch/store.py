"""A collection in Elasticsearch that convqa made: an index behind an alias, which is resolved once, at opening."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.domain import Passage, Query, Ranking
from convqa.errors import InputError, WorkError
from convqa.stores.base import Encoder, Filter, Info, SearchParams, refuse_encoder
from convqa.stores.elasticsearch.connect import Target
from convqa.stores.elasticsearch.index import Index
from convqa.stores.elasticsearch.msearch import Searches
from convqa.stores.elasticsearch.params import refuse
from convqa.stores.elasticsearch.passages import fetch, passage, scan
from convqa.stores.elasticsearch.schema import Record, vectors_of
from convqa.stores.elasticsearch.search import Texts, Vectors, checked, vectors
from convqa.stores.elasticsearch.state import State, look, opened
from convqa.stores.elasticsearch.vectors import without_vectors
from convqa.stores.elasticsearch.writer import Writer
from convqa.stores.writing import Writing
from convqa.text.analysis import analyzer

ENGINE = "elasticsearch"
CAPABILITIES = frozenset({"stopwords", "filter", "write", "vectors"})


class Elasticsearch(Writing):
    """A collection that convqa made. Searches from many threads at once are safe; writing is one thread's work.

    It keeps to the index that the alias meant when it was opened, and to what was committed then or by itself: what
    reads passages raises a ``RunError`` after another's commit or a change of k1 and b (see :func:`look`). An add,
    delete or commit that raises drops everything since the last commit.

    :param target: the collection. :param name: the index that its alias means. :param shards: of the index.
    :param building: the state of an index that nobody else sees yet. None: what the index says, now and after each
        reading.
    :raises InputError, StoreUnavailable, StoreDamaged: see :func:`opened`. Where an add was cut off, what reads
        passages raises StoreDamaged; the next ``add`` and ``commit`` mend it.
    """

    def __init__(self, target: Target, name: str, shards: int, building: State | None = None) -> None:
        self.target = target
        self._index = Index(target, name)
        self._searches = Searches(target, name, dfs=shards > 1)
        self._neighbours = Searches(target, vectors_of(name))
        self._watched = building is None
        with self._searches.reading():
            state = building or opened(target, name)
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
            k1=state.k1,
            b=state.b,
            vector_options=vectors.options if vectors and vectors.count else None,
        )

    def check(self, params: SearchParams) -> None:
        """:raises InputError: for another k1 or b than the index has, too; it says how to go on."""
        refuse(params, self.info(), f"collection {self.target}", changeable=True)

    def search(self, queries: Sequence[Query], k: int, params: SearchParams, texts: int = 20) -> list[Ranking]:
        """See :class:`convqa.stores.base.Store`. k1 and b are the index's; passages that score 0 are no hits."""
        self.check(params)
        with self._reading() as state:
            return Texts(self._searches, self._words, state.k1).search(queries, k, params, texts)

    def search_vectors(
        self,
        matrix: NDArray[np.floating[Any]],
        k: int,
        encoder: Encoder,
        texts: int = 20,
        filter: Filter | None = None,
    ) -> list[Ranking]:
        """See :class:`convqa.stores.base.Store`. Scores are inner products as the server computes them (float32).

        :raises InputError: also for a query that is no vector of the encoder, and for a filter where the vectors were
            made without the meta fields of their passages.
        """
        place = f"collection {self.target}"
        refuse_encoder(encoder, self.info(), place)
        rows = checked(matrix, encoder, f"queries of {place}")
        with self._reading(vectors=True) as state:
            assert state.vectors is not None
            if filter and not state.vectors.filters:
                raise InputError(
                    f"{place}: an earlier convqa made its vectors, without the meta fields of their passages: they "
                    f"cannot be searched with filter={dict(filter)!r}. Index the passages again with --replace."
                )
            return Vectors(self._searches, self._neighbours, state.vectors.options).search(rows, k, texts, filter)

    def vectors(self, ids: Sequence[str]) -> list[NDArray[np.float32] | None]:
        if self.info().encoder is None:
            return [None] * len(ids)
        with self._reading(vectors=True):
            return vectors(self._neighbours, ids)

    def fetch(self, ids: Sequence[str]) -> list[Passage | None]:
        with self._reading():
            return fetch(self._searches, ids)

    def scan(self) -> Iterator[Passage]:
        """All passages, in the state of the first, whatever is committed meanwhile."""
        with self._reading():
            return self._checked(passage(hit["_source"], self._searches) for hit in scan(self._searches))

    def without_vectors(self) -> Iterator[Passage]:
        with self._reading():
            return self._checked(without_vectors(self._index))

    def _checked(self, found: Iterator[Passage]) -> Iterator[Passage]:
        """Passages that are read page by page, if the first was read in the state that was opened."""
        with self._searches.reading():
            first = list(islice(found, 1))
            self._look()
            yield from chain(first, found)

    def commit(self) -> None:
        if self._writer is None:
            return
        with self._transaction() as writer:
            writer.commit()
            self._current = State.read(self.target, self._index.name)
            self._writer = None

    def close(self) -> None:
        """Let go; what was not committed is dropped. The connections are the process's, and stay."""
        self._drop()
        self._current = None

    @property
    def closed(self) -> bool:
        return self._current is None

    def _state(self) -> State:
        state = self._current
        if state is None:
            raise WorkError(f"collection {self.target} is closed")
        return state

    @contextmanager
    def _reading(self, vectors: bool = False) -> Iterator[State]:
        """Around a reading: what it found is as it was when the collection was opened."""
        state = self._state()
        with self._searches.reading():
            yield state
            self._look(vectors)

    def _look(self, vectors: bool = False) -> None:
        # While this store writes, nobody else does.
        if self._watched and self._writer is None:
            look(self.target, self._index.name, self._state(), vectors)

    def _begin(self) -> Writer:
        self._state()
        return Writer(self.target, self._index.name)


def _analyzer(record: Record, target: Target) -> Any:
    found = analyzer(record.language)
    if found.name != record.analyzer:
        raise InputError(
            f"collection {target} was analysed by {record.analyzer}; this version of convqa has {found.name}. "
            "Index its passages again with --replace."
        )
    return found
