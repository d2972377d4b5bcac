"""One transaction on a collection's folder. Data is appended; replacing the manifest commits it.

A commit writes the flat files, tantivy and the database, then the manifest. Killed before the manifest: readers see the
old state and ignore later numbers and rows, which the next writer removes. Texts and vectors are written separately: an
unchanged side keeps its files.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import orjson
from filelock import FileLock, Timeout

from convqa.domain import Passage
from convqa.errors import InputError, RunError, WorkError
from convqa.stores.base import Encoder, Ids, Matrix, VectorOptions
from convqa.stores.content import checksum, content, digest, duplicate
from convqa.stores.embedded import database
from convqa.stores.embedded.database import DatabaseWriter
from convqa.stores.embedded.files import NUMBER, Mask, write_array, writing
from convqa.stores.embedded.forward import Forward, ForwardWriter
from convqa.stores.embedded.index import IndexWriter
from convqa.stores.embedded.manifest import NAME, CollectionManifest
from convqa.stores.embedded.search import Snapshot, frequencies_name
from convqa.stores.embedded.vectors import PREFIX, FolderVectorWriter
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


class FolderWriter:
    """A transaction, which ends with ``commit`` or ``close``.

    :param data: the data folder that the collection's reader has open.
    :raises WorkError: if another writer holds the folder.
    :raises RunError: if the collection was replaced since, so that the changes belong to other passages.
    """

    def __init__(self, folder: Path, data: str) -> None:
        self._folder = folder
        self._text: TextWriter | None = None
        self._vectors: FolderVectorWriter | None = None
        self._lock = writer_lock(folder)
        try:
            self._base = Snapshot.open(folder)
            if self._base.manifest.data != data:
                raise RunError(f"collection {folder} was replaced since it was opened: start again.")
        except BaseException:
            self._lock.release()
            raise

    def add(self, passages: Iterable[Passage]) -> None:
        self._text_side().add(passages)

    def delete(self, ids: Ids) -> None:
        self._text_side().delete(ids)

    def add_vectors(
        self,
        ids: Ids,
        matrix: Matrix,
        encoder: Encoder,
        options: VectorOptions | None = None,
    ) -> None:
        """:raises InputError: also for an id that is not in the collection."""
        texts = self._text or self._base
        numbers = [texts.number(id) for id in ids]
        unknown = [id for id, number in zip(ids, numbers, strict=True) if number is None]
        if unknown:
            raise InputError(
                f"collection {self._folder} lacks the passages of {len(unknown)} of {len(ids)} vectors, first "
                f"{unknown[0]!r}. Add the passages first, or leave these vectors out."
            )
        with writing(self._folder):
            self._vector_side(encoder).add(np.array(numbers, NUMBER), matrix, encoder, options)

    def _text_side(self) -> TextWriter:
        if self._text is None:
            with writing(self._folder):
                self._text = TextWriter(self._base)
        return self._text

    def _vector_side(self, encoder: Encoder) -> FolderVectorWriter:
        if self._vectors is None:
            kept = self._base.manifest.vectors
            known = encoder if kept is None else kept.encoder
            writer = WeightWriter if known.sparse else FolderVectorWriter
            self._vectors = writer(self._folder, self._base.manifest, known)
        return self._vectors

    def commit(self) -> None:
        """Make the changes visible to readers that open from now on, and end the transaction."""
        manifest, deleted = self._base.manifest, self._base.deleted
        with writing(self._folder):
            if self._text is not None:
                deleted = self._text.deleted
                if manifest.vectors is not None:
                    self._vector_side(manifest.vectors.encoder)  # counts the vectors of live passages anew
                manifest = self._text.write()
            if self._vectors is not None:
                vectors, extents = self._vectors.write(deleted)
                text_files = {name: extent for name, extent in manifest.files.items() if not name.startswith(PREFIX)}
                manifest = replace(manifest, vectors=vectors, files=text_files | extents)
            manifest.write(self._folder)
            self._remove_unused(manifest)
        if self._text is not None and self._text.copies:
            logger.warning("%d passages came again with the same id and content: kept once", self._text.copies)
        self.close()

    def _remove_unused(self, manifest: CollectionManifest) -> None:
        """Remove files of earlier states and of killed writers."""
        # A folder that is being built has manifest and lock in its data folder.
        used = {NAME, LOCK, database.NAME, *manifest.files}
        for path in self._base.data.iterdir():
            if path.name not in used and path.is_file():
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """Drop uncommitted changes and release the lock."""
        for side in (self._text, self._vectors):
            if side is not None:
                side.close()
        self._lock.release()


@dataclass(frozen=True, slots=True)
class _Entry:
    """A passage with its stored content."""

    passage: Passage
    content: bytes


class TextWriter:
    """Adds to and deletes from ``base``. The folder's writer holds the lock and commits."""

    def __init__(self, base: Snapshot) -> None:
        manifest, data = base.manifest, base.data
        self._base = base
        self._analyzer = analyzer(manifest.language)
        self._numbers = manifest.numbers
        self._checksum = int(manifest.checksum, 16)
        self._deleted = set(np.flatnonzero(base.deleted).tolist())
        self.copies = 0
        self._database = DatabaseWriter(data, manifest.numbers, base.frequencies.shape[1], manifest.generation)
        self._vocabulary = Vocabulary(self._database, base.frequencies.shape[1])
        self._forward = ForwardWriter(data, manifest.files)
        self._index = IndexWriter(data, self._numbers)

    def add(self, passages: Iterable[Passage]) -> None:
        """Add passages; skip exact copies.

        :raises InputError: for an id whose stored content differs.
        """
        stream = iter(passages)
        while batch := list(islice(stream, _BATCH)):
            entries = [_Entry(passage, content(passage)) for passage in batch]
            if new := self._without_copies(entries):
                with writing(self._base.folder):
                    self._append(new)

    def _without_copies(self, entries: Sequence[_Entry]) -> list[_Entry]:
        new: dict[str, _Entry] = {}
        for entry in entries:
            id = entry.passage.id
            stored = None
            if id in new:
                stored = new[id].content
            elif (number := self.number(id)) is not None:
                stored = self._database.contents([number])[number]
            if stored is None:
                new[id] = entry
            elif stored == entry.content:
                self.copies += 1
            else:
                raise duplicate(orjson.loads(stored)["text"], entry.passage)
        return list(new.values())

    def number(self, id: str) -> int | None:
        """Return a live passage's number, committed or not."""
        for number in self._database.numbers(id):
            if number not in self._deleted:
                return number
        return None

    def _append(self, entries: Sequence[_Entry]) -> None:
        texts = [self._analyzer.tokens(entry.passage.text) for entry in entries]
        titles = [self._analyzer.tokens(entry.passage.title) for entry in entries]
        rows = []
        for number, (entry, text, title) in enumerate(zip(entries, texts, titles, strict=True), self._numbers):
            self._index.add(number, text, title, entry.passage.meta)
            content_digest = digest(entry.content)
            self._checksum += content_digest
            rows.append((number, entry.passage.id, checksum(content_digest), entry.content))
        self._database.add_passages(rows)
        vocabulary = self._vocabulary
        self._forward.extend(
            [entry.passage.id for entry in entries],
            [[vocabulary[token] for token in text] for text in texts],
            [[vocabulary[token] for token in title] for title in titles],
        )
        self._numbers += len(entries)

    def delete(self, ids: Ids) -> None:
        """Delete passages by id; count unknown ids in one warning."""
        missing = 0
        generation = self._base.manifest.generation + 1
        with writing(self._base.folder):
            for id in ids:
                number = self.number(id)
                if number is None:
                    missing += 1
                    continue
                self._deleted.add(number)
                self._database.delete(number, generation)
                self._checksum -= digest(self._database.contents([number])[number])
        if missing:
            logger.warning("%d of %d passages to delete are not in collection %s", missing, len(ids), self._base.folder)

    @property
    def deleted(self) -> Mask:
        """Whether a passage is deleted, by number."""
        deleted = np.zeros(self._numbers, bool)
        deleted[list(self._deleted)] = True
        return deleted

    def write(self) -> CollectionManifest:
        """Sync the files, commit index and database, and return the new manifest."""
        before = self._base.manifest
        generation = before.generation + 1
        files = {name: extent for name, extent in before.files.items() if name.startswith(PREFIX)}
        files |= self._forward.sync()
        frequencies = Forward(self._base.data, files).document_frequencies(self._vocabulary.size, self.deleted)
        files |= write_array(self._base.data, frequencies_name(generation), frequencies)
        self._index.commit()
        self._database.add_terms(self._vocabulary.new)
        self._database.commit()
        return replace(
            before,
            generation=generation,
            numbers=self._numbers,
            count=self._numbers - len(self._deleted),
            checksum=checksum(self._checksum),
            files=files,
        )

    def close(self) -> None:
        self._forward.close()
        self._database.close()
        self._index.close()


class Vocabulary(dict[str, int]):
    """Token -> term number; a new token gets the next number. ``new``: those that the database lacks."""

    def __init__(self, database: DatabaseWriter, committed: int) -> None:
        super().__init__()
        self._database = database
        self._committed = committed
        self.new: dict[str, int] = {}

    @property
    def size(self) -> int:
        return self._committed + len(self.new)

    def __missing__(self, token: str) -> int:
        number = self._database.term(token) if self._committed else None
        if number is None:
            number = self.new[token] = self.size
        self[token] = number
        return number
