"""One transaction on a collection's folder. Data goes behind what is committed; replacing the manifest commits it.

Order of a commit: data files and tantivy, manifest, then tantivy's deletions. Killed before
the manifest: readers see the old state (they ignore numbers and rows that it does not know), and the next commit
removes the rest. Killed after it: readers leave out what is deleted, and the next writer deletes it again. Texts and
vectors are written apart: files of a side that does not change stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from convqa.domain import Passage
from convqa.errors import InputError, WorkError
from convqa.stores.base import Encoder, VectorOptions
from convqa.stores.embedded.files import writing
from convqa.stores.embedded.lookup import NUMBER
from convqa.stores.embedded.manifest import NAME, Manifest
from convqa.stores.embedded.search import Snapshot
from convqa.stores.embedded.textwriter import TextWriter
from convqa.stores.embedded.vectors import VectorWriter, graph_name

LOCK = "writer.lock"


def writer_lock(folder: Path) -> FileLock:
    """The lock of a folder's one writer, taken.

    :raises WorkError: if another writer is at work on the folder.
    """
    lock = FileLock(folder / LOCK)
    with writing(folder):
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise WorkError(f"collection {folder} is being written by another process; try again later") from None
    return lock


class Writer:
    """Any number of adds and deletes, then ``commit`` or ``close`` (which drops them).

    :raises WorkError: if another writer is at work on the folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._text: TextWriter | None = None
        self._vectors: VectorWriter | None = None
        self._lock = writer_lock(folder)
        try:
            self._base = Snapshot.open(folder)
        except BaseException:
            self._lock.release()
            raise

    def add(self, passages: Iterable[Passage]) -> None:
        """See :meth:`TextWriter.add`."""
        self._texts().add(passages)

    def delete(self, ids: Sequence[str]) -> None:
        """See :meth:`TextWriter.delete`."""
        self._texts().delete(ids)

    def add_vectors(
        self, ids: Sequence[str], matrix: NDArray[Any], encoder: Encoder, options: VectorOptions | None = None
    ) -> None:
        """See :meth:`VectorWriter.add`.

        :raises InputError: for an id that is not in the collection, too.
        """
        find = self._base.number if self._text is None else self._text.number
        numbers = [find(id) for id in ids]
        unknown = [id for id, number in zip(ids, numbers, strict=True) if number is None]
        if unknown:
            raise InputError(
                f"collection {self._folder}: {len(unknown)} of {len(ids)} vectors are of passages that it does not "
                f"have, first of {unknown[0]!r}. Add the passages first, or leave these vectors out."
            )
        with writing(self._folder):
            self._vector_side().add(np.array(numbers, NUMBER), matrix, encoder, options)

    def _texts(self) -> TextWriter:
        if self._text is None:
            with writing(self._folder):
                self._text = TextWriter(self._base)
        return self._text

    def _vector_side(self) -> VectorWriter:
        if self._vectors is None:
            self._vectors = VectorWriter(self._folder, self._base.manifest)
        return self._vectors

    def commit(self) -> None:
        """Make all that was added and deleted visible to readers that open now, and end the transaction."""
        text, base = self._text, self._base.manifest
        with writing(self._folder):
            manifest, deleted = (base, self._base.deleted) if text is None else (text.write(), text.deleted)
            if base.vectors is not None and len(deleted) > len(self._base.deleted):
                self._vector_side()
            if self._vectors is not None:
                vectors = self._vectors.write(deleted)
                manifest = replace(manifest, vectors=vectors, vector_commits=base.vector_commits + 1)
            manifest.write(self._folder)
            if text is not None:
                text.forget_deleted()
            self._remove_unused(manifest)
        self.close()

    def _remove_unused(self, manifest: Manifest) -> None:
        """Remove files of earlier states, and what killed writers left."""
        used = {NAME, LOCK, *manifest.files}
        if manifest.vectors is not None:
            used |= {*manifest.vectors.files, graph_name(manifest.vectors.generation)}
        for path in self._base.data.iterdir():
            if path.name not in used and path.is_file():
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """End; what was not committed is dropped."""
        for part in (self._text, self._vectors):
            if part is not None:
                part.close()
        self._lock.release()
