"""One transaction on a collection's folder. Data is appended; replacing the manifest commits it.

A commit writes the flat files and the database, then the manifest. Killed before the manifest: readers see the
old state and ignore later numbers and rows, which the next writer removes. Texts and vectors are written separately: an
unchanged side keeps its files.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
import orjson
from filelock import FileLock, Timeout

from convqa.domain import Passage
from convqa.errors import CollectionBusy, InputError, RunError, counted
from convqa.stores.base import Encoder, Ids, Matrix
from convqa.stores.checks import checked_vectors, refuse_other_encoder
from convqa.stores.content import checksum, content, digest, duplicate, terms_of
from convqa.stores.embedded import database
from convqa.stores.embedded.database import Database
from convqa.stores.embedded.files import NUMBER, ArrayWriter, Mask, array, writing
from convqa.stores.embedded.manifest import NAME, CollectionManifest, VectorState, reading
from convqa.stores.embedded.postings import PostingWriter, meta_token
from convqa.stores.embedded.vectors import PREFIX, ROW, ROWS, append_vectors, rows_by_passage
from convqa.text.analysis import analyzer

logger = logging.getLogger(__name__)

LOCK = "writer.lock"
_BATCH = 2000
_WAIT_SECONDS = 10
"""Time to wait for another writer."""


def writer_lock(folder: Path) -> FileLock:
    """Acquire the lock of a folder's writer. :raises CollectionBusy: if another writer holds it."""
    lock = FileLock(folder / LOCK)
    with writing(folder):
        try:
            lock.acquire(timeout=_WAIT_SECONDS)
        except Timeout:
            raise CollectionBusy(f"collection {folder} is being written by another process; try again later") from None
    return lock


class FolderWriter:
    """A transaction, which ends with ``commit`` or ``close``.

    :param data: the data folder that the collection's reader has open.
    :raises CollectionBusy: if another writer holds the folder.
    :raises RunError: if the collection was replaced since, so that the changes belong to other passages.
    """

    def __init__(self, folder: Path, data: str) -> None:
        self._folder = folder
        self._data = folder / data
        self._lock = writer_lock(folder)
        try:
            with reading(folder):
                self._base = CollectionManifest.read(folder)
                if self._base.data != data:
                    raise RunError(f"collection {folder} was replaced since it was opened: start again.")
                self._database = Database(self._data, self._base)
                self._database.begin()
        except BaseException:
            self._lock.release()
            raise
        self._analyzer = analyzer(self._base.language)
        self._arrays = ArrayWriter(self._data, self._base.files, self._base.checksums)
        self._term = cache(self._database.add_term)
        self._checksum = int(self._base.checksum, 16)
        self._copies = 0
        self._index = PostingWriter(self._arrays)
        self._vector_state = self._base.vectors

    def add(self, passages: Iterable[Passage]) -> None:
        """Add passages; skip exact copies.

        :raises InputError: for an id whose stored content differs.
        """
        stream = iter(passages)
        while batch := list(islice(stream, _BATCH)):
            with writing(self._folder):
                if new := [passage for passage in batch if self._is_new(passage)]:
                    self._append(new)

    def _is_new(self, passage: Passage) -> bool:
        """Add a passage to the database, and return True; return False for an exact copy of a stored one."""
        added = content(passage)
        number = self._database.number(passage.id)
        if number is None:
            self._database.add(passage.id, added)
            self._checksum += digest(added)
            return True
        stored = self._database.contents([number])[number]
        if stored != added:
            raise duplicate(orjson.loads(stored)["text"], passage)
        self._copies += 1
        return False

    def _append(self, passages: Sequence[Passage]) -> None:
        """Index passages, the last ones in the database."""
        tokens = self._analyzer.tokens
        meta = [map(meta_token, terms_of(passage.meta)) for passage in passages]
        self._index.add_passages(
            self._database.numbers - len(passages),
            [passage.id for passage in passages],
            [list(map(self._term, tokens(passage.text))) for passage in passages],
            [list(map(self._term, tokens(passage.context))) for passage in passages],
            [list(map(self._term, values)) for values in meta],
        )
        self._database.commit()

    def delete(self, ids: Ids) -> None:
        """Delete passages by id. Unknown ids are ignored."""
        with writing(self._folder):
            for id in ids:
                number = self._database.number(id)
                if number is not None:
                    self._checksum -= digest(self._database.contents([number])[number])
                    self._database.delete(number)

    def add_vectors(
        self,
        ids: Ids,
        matrix: Matrix,
        encoder: Encoder,
    ) -> None:
        """:raises InputError: also for an id that is not in the collection."""
        name = f"collection {self._folder}"
        numbers = {id: self._database.number(id) for id in ids}
        for id, number in numbers.items():
            if number is None:
                raise InputError(f"there is no passage {id!r} in {name}: add passages before their vectors.")
        state = self._vector_state or VectorState(encoder)
        refuse_other_encoder(state.encoder, encoder, name)
        values = checked_vectors(matrix, len(ids), encoder, name)
        self._vector_state = state
        with writing(self._folder):
            append_vectors(self._arrays, np.array([numbers[id] for id in ids], NUMBER), values)

    def commit(self) -> None:
        """Make the changes visible to readers that open from now on, and end the transaction."""
        with writing(self._folder):
            deleted = self._database.deleted()
            generation = self._base.generation + 1
            count = int(np.count_nonzero(~deleted))
            if (len(deleted), count) != (self._base.numbers, self._base.count):
                self._index.commit(generation, self._database.terms, ~deleted)
                self._database.commit()
            self._arrays.sync()
            vectors = self._live_vectors(deleted)
            manifest = replace(
                self._base,
                generation=generation,
                numbers=len(deleted),
                terms=self._database.terms,
                count=count,
                checksum=checksum(self._checksum),
                files=self._arrays.sizes,
                checksums=self._arrays.checksums,
                vectors=vectors,
            )
            manifest.write(self._folder)
            self._remove_unused()
        if self._copies:
            logger.warning("%s came again with the same id and content: kept once", counted(self._copies, "passages"))
        self.close()

    def _live_vectors(self, deleted: Mask) -> VectorState | None:
        """Return the state of the vectors, or None, without files, if no passage has one."""
        rows = array(self._data, ROWS, ROW, self._arrays.sizes)
        count = int(np.count_nonzero(rows_by_passage(rows["number"], deleted) >= 0))
        if self._vector_state is None or count == 0:
            self._arrays.drop(PREFIX)
            return None
        return replace(self._vector_state, count=count)

    def _remove_unused(self) -> None:
        """Remove files of earlier states and of killed writers."""
        # A folder that is being built has manifest and lock in its data folder.
        used = {NAME, LOCK, database.NAME, *self._arrays.sizes}
        for path in self._data.iterdir():
            if path.name not in used and path.is_file():
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """Drop uncommitted changes and release the lock."""
        self._arrays.close()
        self._database.close()
        self._lock.release()
