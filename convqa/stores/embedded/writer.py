"""One transaction on a collection's folder. Data is appended; replacing the manifest commits it.

A commit writes data files and tantivy, then the manifest, then tantivy's deletions. Killed before the manifest: readers
see the old state and ignore later numbers and rows, which the next commit removes. Killed after it: readers skip
deleted passages, and the next writer deletes them again. Texts and vectors are written separately: an unchanged side
keeps its files.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from convqa.domain import Passage
from convqa.errors import InputError, RunError, WorkError
from convqa.stores.base import Encoder, Ids, Matrix, VectorOptions
from convqa.stores.content import checksum, content, digest, duplicate
from convqa.stores.embedded.files import Appender, BlobAppender, Extent, write_array, writing
from convqa.stores.embedded.forward import ForwardAppender
from convqa.stores.embedded.index import IndexWriter
from convqa.stores.embedded.lookup import NUMBER, GrowingLookup, VocabularyWriter, hashed, numbers_of
from convqa.stores.embedded.manifest import NAME, Manifest
from convqa.stores.embedded.search import Snapshot
from convqa.stores.embedded.vectors import VectorWriter
from convqa.stores.embedded.weights import WeightWriter
from convqa.text.analysis import analyzer

logger = logging.getLogger(__name__)

LOCK = "writer.lock"
_BATCH = 2000


def writer_lock(folder: Path) -> FileLock:
    """Acquire the lock of a folder's writer. :raises WorkError: if another writer holds it."""
    lock = FileLock(folder / LOCK)
    with writing(folder):
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise WorkError(f"collection {folder} is being written by another process; try again later") from None
    return lock


class Writer:
    """A transaction, which ends with ``commit`` or ``close``.

    :param data: the data folder that the collection's reader has open.
    :raises WorkError: if another writer holds the folder.
    :raises RunError: if the collection was replaced since, so that the changes belong to other passages.
    """

    def __init__(self, folder: Path, data: str) -> None:
        self._folder = folder
        self._text: TextWriter | None = None
        self._vectors: VectorWriter | None = None
        self._lock = writer_lock(folder)
        try:
            self._base = Snapshot.open(folder)
            if self._base.manifest.data != data:
                raise RunError(f"collection {folder} was replaced since it was opened: start again.")
        except BaseException:
            self._lock.release()
            raise

    def add(self, passages: Iterable[Passage]) -> None:
        self._texts().add(passages)

    def delete(self, ids: Ids) -> None:
        self._texts().delete(ids)

    def add_vectors(self, ids: Ids, matrix: Matrix, encoder: Encoder, options: VectorOptions | None = None) -> None:
        """:raises InputError: also for an id that is not in the collection."""
        find = self._base.number if self._text is None else self._text.number
        numbers = [find(id) for id in ids]
        unknown = [id for id, number in zip(ids, numbers, strict=True) if number is None]
        if unknown:
            raise InputError(
                f"collection {self._folder} lacks the passages of {len(unknown)} of {len(ids)} vectors, first "
                f"{unknown[0]!r}. Add the passages first, or leave these vectors out."
            )
        with writing(self._folder):
            self._vector_side(encoder).add(np.array(numbers, NUMBER), matrix, encoder, options)

    def _texts(self) -> TextWriter:
        if self._text is None:
            with writing(self._folder):
                self._text = TextWriter(self._base)
        return self._text

    def _vector_side(self, encoder: Encoder) -> VectorWriter:
        if self._vectors is None:
            kept = self._base.manifest.vectors
            sparse = encoder.sparse if kept is None else kept.encoder.sparse
            self._vectors = (WeightWriter if sparse else VectorWriter)(self._folder, self._base.manifest)
        return self._vectors

    def commit(self) -> None:
        """Make the changes visible to readers that open from now on, and end the transaction."""
        text, base = self._text, self._base.manifest
        with writing(self._folder):
            manifest, deleted = (base, self._base.deleted) if text is None else (text.write(), text.deleted)
            if base.vectors is not None and len(deleted) > len(self._base.deleted):
                self._vector_side(base.vectors.encoder)
            if self._vectors is not None:
                vectors = self._vectors.write(deleted)
                manifest = replace(manifest, vectors=vectors, vector_commits=base.vector_commits + 1)
            manifest.write(self._folder)
            if text is not None:
                text.forget_deleted()
            self._remove_unused(manifest)
        self.close()

    def _remove_unused(self, manifest: Manifest) -> None:
        """Remove files of earlier states and of killed writers."""
        # A folder that is being built has manifest and lock in its data folder.
        used = {NAME, LOCK, *manifest.files, *(manifest.vectors.files if manifest.vectors else ())}
        for path in self._base.data.iterdir():
            if path.name not in used and path.is_file():
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """Drop uncommitted changes and release the lock."""
        for part in (self._text, self._vectors):
            if part is not None:
                part.close()
        self._lock.release()


class TextWriter:
    """Adds to and deletes from ``base``. The folder's writer holds the lock and commits."""

    def __init__(self, base: Snapshot) -> None:
        manifest, data = base.manifest, base.data
        self._base = base
        self._analyzer = analyzer(manifest.language)
        self._numbers = manifest.numbers
        self._checksum = int(manifest.checksum, 16)
        self._repeated = 0
        self._deleted = set(base.deleted.tolist())
        self._lookup = GrowingLookup(base.lookup)
        self._vocabulary = VocabularyWriter(base.vocabulary)
        self._passages = BlobAppender(data, "passages", manifest.files)
        self._ids = BlobAppender(data, "ids", manifest.files)
        self._forward = ForwardAppender(data, manifest.files)
        self._lengths = Appender(data, "lengths", manifest.files)
        self._files = (*self._passages.files, *self._ids.files, *self._forward.files, self._lengths)
        self._index = IndexWriter(data)
        self._index.forget_from(self._numbers)
        self._index.forget(self._deleted)

    def add(self, passages: Iterable[Passage]) -> None:
        """Add passages; skip exact copies.

        :raises InputError: for an id whose stored content differs.
        """
        stream = iter(passages)
        while batch := list(islice(stream, _BATCH)):
            entries = [_Entry(content(passage), passage, passage.id.encode(), hashed(passage.id)) for passage in batch]
            if new := self._without_copies(entries):
                with writing(self._base.folder):
                    self._append(new)

    def _without_copies(self, batch: Sequence[_Entry]) -> list[_Entry]:
        new: dict[bytes, _Entry] = {}
        for entry, may_exist in zip(batch, self._lookup.contains([entry.hash for entry in batch]), strict=True):
            stored = new[entry.id].data if entry.id in new else None
            if may_exist and (number := self.number(entry.passage.id)) is not None:
                stored = self._passages[number]
            if stored is None:
                new[entry.id] = entry
            elif stored == entry.data:
                self._repeated += 1
            else:
                raise duplicate(orjson.loads(stored)["text"], entry.passage)
        return list(new.values())

    def number(self, id: str) -> int | None:
        """Return a live passage's number, committed or not."""
        numbers = numbers_of(id, self._lookup, self._ids)
        return next((number for number in numbers if number not in self._deleted), None)

    def _append(self, entries: Sequence[_Entry]) -> None:
        tokens, vocabulary = self._analyzer.tokens, self._vocabulary
        texts = [tokens(entry.passage.text) for entry in entries]
        titles = [tokens(entry.passage.title) for entry in entries]
        for number, (entry, text, title) in enumerate(zip(entries, texts, titles, strict=True), self._numbers):
            self._index.add(number, text, title, entry.passage.meta)
        terms = self._forward.extend(
            [[vocabulary[token] for token in text] for text in texts],
            [[vocabulary[token] for token in title] for title in titles],
        )
        self._vocabulary.count(terms)
        lengths = np.array([list(map(len, texts)), list(map(len, titles))], NUMBER).T
        self._lengths.append(np.ascontiguousarray(lengths).data)
        self._passages.extend([entry.data for entry in entries])
        self._ids.extend([entry.id for entry in entries])
        last = self._numbers + len(entries)
        self._lookup.extend([entry.hash for entry in entries], range(self._numbers, last))
        self._checksum += sum(digest(entry.data) for entry in entries)
        self._numbers = last

    def delete(self, ids: Ids) -> None:
        """Delete passages by id; count unknown ids in one warning."""
        missing = 0
        with writing(self._base.folder):
            for id in ids:
                number = self.number(id)
                if number is None:
                    missing += 1
                else:
                    self._deleted.add(number)
                    self._vocabulary.count(self._forward.terms(number), -1)
                    self._checksum -= digest(self._passages[number])
        if missing:
            logger.warning("%d of %d passages to delete are not in collection %s", missing, len(ids), self._base.folder)

    def write(self) -> Manifest:
        """Sync the files and commit the index; return the new manifest."""
        generation, data, deleted = self._base.manifest.generation + 1, self._base.data, self.deleted
        files: dict[str, Extent] = {}
        for file in self._files:
            files |= file.sync()
        files |= self._vocabulary.write(data, generation)
        files |= self._lookup.whole().without(deleted).write(data, "ids", generation)
        files |= write_array(data, f"deleted.{generation}", deleted)
        self._index.commit()
        return replace(
            self._base.manifest,
            generation=generation,
            numbers=self._numbers,
            count=self._numbers - len(deleted),
            checksum=checksum(self._checksum),
            files=files,
        )

    @property
    def deleted(self) -> NDArray[Any]:
        """The numbers of all deleted passages, ascending."""
        return np.array(sorted(self._deleted), NUMBER)

    def forget_deleted(self) -> None:
        """Delete passages from the index after the manifest is written, and log the number of copies."""
        newly = self._deleted - set(self._base.deleted.tolist())
        if newly:
            self._index.forget(newly)
            self._index.commit()
        if self._repeated:
            logger.warning("%d passages came again with the same id and content: kept once", self._repeated)

    def close(self) -> None:
        for file in self._files:
            file.close()
        self._index.close()


class _Entry(NamedTuple):
    """A passage with its stored content and id."""

    data: bytes
    passage: Passage
    id: bytes
    hash: int
