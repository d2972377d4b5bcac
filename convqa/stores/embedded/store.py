"""A collection in a folder, which scores every passage that has a token of the query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from convqa.domain import Passage, Query, Ranking
from convqa.errors import WorkError
from convqa.stores.base import (
    Encoder,
    Filter,
    Floats,
    Ids,
    Info,
    Matrix,
    SearchParams,
    Writing,
    refuse_encoder,
    refuse_unknown,
)
from convqa.stores.checks import checked_vectors
from convqa.stores.embedded.files import Mask
from convqa.stores.embedded.manifest import reading
from convqa.stores.embedded.search import Snapshot
from convqa.stores.embedded.writer import FolderWriter
from convqa.workers.threads import threads

CAPABILITIES = frozenset({"k1", "b", "title_weight", "stopwords", "filter", "write", "vectors"})

_MAX_THREADS = 4
"""Maximum threads per batch. More would wait for the GIL, which numpy releases only in long operations."""

_PASSAGES_PER_THREAD = 100_000
"""In smaller collections numpy's operations are so short that threads cost more than they gain."""

_SCANNED = 500
"""Passages that a scan reads at a time."""


class FolderStore(Writing):
    """A collection in a folder. Searching is thread-safe; writing is not.

    :raises InputError: if the folder is not a collection, or of another version.
    :raises StoreDamaged: if a file is missing or corrupt.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._name = f"the embedded collection {folder}"
        self._snapshot: Snapshot | None = Snapshot.open(folder)

    def info(self) -> Info:
        manifest = self._state().manifest
        vectors = manifest.vectors
        return Info(
            engine="embedded",
            count=manifest.count,
            language=manifest.language,
            analyzer=manifest.analyzer,
            fields=("title", "text"),
            checksum=manifest.checksum,
            encoder=vectors.encoder if vectors else None,
            vectors=vectors.count if vectors else 0,
            capabilities=CAPABILITIES,
            source=manifest.source,
        )

    def search(
        self,
        queries: Sequence[Query],
        k: int,
        params: SearchParams,
        texts: int = 20,
    ) -> list[Ranking]:
        """See :class:`convqa.stores.base.Store`. k1 and b default to .82 and .68. Scores of 0 are no hits.

        :raises ValueError: for term weights that are not finite, negative, or too large.
        """
        self.check(params)
        state = self._state()
        weighed = [state.weights(query, params) for query in queries]
        rank = partial(state.search, k=k, params=params, texts=texts)
        useful = 1 + state.manifest.numbers // _PASSAGES_PER_THREAD
        workers = min(_MAX_THREADS, threads(), useful, len(weighed))
        with reading(self.folder):
            if workers < 2:
                return [rank(weights) for weights in weighed]
            # A new pool per batch, because threads do not survive a fork.
            with ThreadPoolExecutor(workers) as pool:
                return list(pool.map(rank, weighed))

    def check(self, params: SearchParams) -> None:
        refuse_unknown(params, self.info(), self._name)

    def search_vectors(
        self, matrix: Matrix, k: int, encoder: Encoder, texts: int = 20, filter: Filter | None = None
    ) -> list[Ranking]:
        """See :class:`convqa.stores.base.Store`. Scores are inner products.

        :raises InputError: also for queries of the wrong shape.
        """
        refuse_encoder(encoder, self.info(), self._name)
        queries = checked_vectors(matrix, None, encoder, f"queries of {self._name}")
        state = self._state()
        assert state.vectors is not None
        with reading(self.folder):
            rows = state.vectors.rows_of(state.accepted(filter))
            best = state.vectors.best(queries, min(k, state.manifest.numbers), rows)
            return [state.ranking(numbers, scores, k, texts) for numbers, scores in best]

    def vectors(self, ids: Ids) -> list[Floats | None]:
        state = self._state()
        if state.vectors is None:
            return [None] * len(ids)
        with reading(self.folder):
            return state.vectors.of([state.database.number(id) for id in ids])

    def fetch(self, ids: Ids) -> list[Passage | None]:
        state = self._state()
        with reading(self.folder):
            numbers = [state.database.number(id) for id in ids]
            found = iter(state.passages([number for number in numbers if number is not None]))
            return [None if number is None else next(found) for number in numbers]

    def scan(self) -> Iterator[Passage]:
        """Iterate over all passages in the order of adding."""
        return self._scan(self._state(), self._state().live)

    def without_vectors(self) -> Iterator[Passage]:
        state = self._state()
        missing = state.live
        if state.vectors is not None:
            with reading(self.folder):
                missing = missing & (state.vectors.row_of < 0)
        return self._scan(state, missing)

    def _scan(self, state: Snapshot, chosen: Mask) -> Iterator[Passage]:
        numbers = np.flatnonzero(chosen).tolist()
        with reading(self.folder):
            for start in range(0, len(numbers), _SCANNED):
                yield from state.passages(numbers[start : start + _SCANNED])

    def commit(self) -> None:
        if self._writer is None:
            return
        with self._transaction() as writer:
            writer.commit()
            self._writer = None
        # Running searches keep the old state.
        self._snapshot = Snapshot.open(self.folder)

    def close(self) -> None:
        self._drop()
        self._snapshot = None

    @property
    def closed(self) -> bool:
        return self._snapshot is None

    def _state(self) -> Snapshot:
        state = self._snapshot
        if state is None:
            raise WorkError(f"collection {self.folder} is closed")
        return state

    def _begin(self) -> FolderWriter:
        return FolderWriter(self.folder, self._state().manifest.data)
