"""Write to a new index, or to a collection that is being searched.

Passages are added to and deleted from a clone of the current version, which replaces it when it is complete. Vectors
alone are written to the current version: searches see them after the refresh of ``commit``.

The stream of passages that fills a new index is cut into batches. When the first n batches are indexed, the index's
metadata records their number of passages and a digest of them. A resumed load skips these, compares the digest, and
sends the rest.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b

from convqa.domain import Passage
from convqa.errors import ConvqaError, RunError, WorkError
from convqa.stores.base import Encoder, Ids, Matrix, VectorOptions
from convqa.stores.content import checksum, content, digest
from convqa.stores.elasticsearch import loading
from convqa.stores.elasticsearch.bulk import Sender, slices
from convqa.stores.elasticsearch.index import Index, look_up, put, sweep
from convqa.stores.elasticsearch.loading import THREADS, Loading, numbered
from convqa.stores.elasticsearch.lock import Lock
from convqa.stores.elasticsearch.reading import Reader
from convqa.stores.elasticsearch.schema import Entry, Item, Meta, Version, document_id
from convqa.stores.elasticsearch.target import Target
from convqa.stores.elasticsearch.vectors import VectorWriter

logger = logging.getLogger(__name__)

_DELETED = 500


class Writer:
    """Adds and deletes passages and vectors of one index; ``finish`` verifies the result."""

    def __init__(self, index: Index, meta: Meta, threads: int = THREADS) -> None:
        self.index, self._meta = index, meta
        self.vectors = VectorWriter(index, meta.vectors)
        self._loading = Loading(index, meta.language, threads)
        self._count, self._sum, self._places = meta.count, int(meta.checksum, 16), meta.places
        self._has_deleted = self._merges = False

    def add(self, passages: Iterable[Passage]) -> None:
        for count, sum, place in self._loading.send(self._to_send(numbered(passages, self._places))):
            self._count += count
            self._sum += sum
            self._answered(place)

    def delete(self, ids: Ids) -> None:
        """Delete passages with their vectors; log how many ids are unknown."""
        deleted = 0
        sender = Sender(self.index.target, self.index.name)
        reader = Reader(self.index.target, self.index.name)
        for piece in slices(ids, _DELETED):
            id_of = {key: id for id in piece if (key := document_id(id))}
            sources = reader.documents(list(id_of), ("passage",), realtime=True)
            for source in sources.values():
                self._count -= 1
                self._sum -= digest(content(Passage.from_json(source["passage"])))
            sender.send("delete", [Item(key, id_of[key]) for key in sources])
            self.vectors.delete([id_of[key] for key in sources])
            deleted += len(sources)
        self._has_deleted = self._has_deleted or deleted > 0
        if deleted < len(ids):
            logger.warning(
                "%d of %d passages to delete are not in collection %s", len(ids) - deleted, len(ids), self.index.target
            )

    def add_vectors(self, ids: Ids, matrix: Matrix, encoder: Encoder, options: VectorOptions | None = None) -> None:
        self.vectors.add(ids, matrix, encoder, options)
        self.vectors.flush()

    def commit(self) -> Meta:
        """Refresh the index; raise a ``WorkError`` unless it has everything that was sent."""
        self.index.refresh()
        sum = self.index.check_totals(self._count, self._sum)
        vectors = self.vectors.commit()
        return replace(self._meta, count=self._count, checksum=sum, places=self._places, vectors=vectors)

    def finish(self) -> Meta:
        """Complete the index and return its metadata."""
        meta = replace(self.commit(), ready=True, digest="")
        if self._has_deleted:
            # Deleted documents count in scores. An index retains them for a while; its clone can merge them away.
            deleted_from, self.index = self.index, self.index.clone(meta.vectors is not None)
            deleted_from.delete()
        if self._has_deleted or self._merges:
            self.index.merge()
        self._loading.report()
        self.index.write(meta)
        return meta

    def close(self) -> None:
        self._loading.close()

    def _to_send(self, entries: Iterator[Entry]) -> Iterator[Entry]:
        for entry in entries:
            self._places = entry.place
            yield entry

    def _answered(self, place: int) -> None:
        """Called when all passages up to a place are in the index."""


class Build(Writer):
    """Fills a new index, or resumes an unfinished one, which holds the first ``meta.places`` passages of the stream."""

    def __init__(self, index: Index, meta: Meta, threads: int) -> None:
        super().__init__(index, meta, threads)
        self._resumed, self._noted, self._places = meta, meta.places, 0
        self._hash = blake2b(digest_size=8)
        self._digests: dict[int, str] = {}
        self._merges = True

    def delete(self, ids: Ids) -> None:
        if self._places < self._resumed.places:
            raise self._other_passages()
        # A resumed load would not delete them again.
        self.index.write(replace(self._meta, places=0))
        self._noted = sys.maxsize
        super().delete(ids)

    def commit(self) -> Meta:
        if self._places < self._resumed.places:
            raise self._other_passages()
        return super().commit()

    def _to_send(self, entries: Iterator[Entry]) -> Iterator[Entry]:
        """Yield the entries after those that the index holds."""
        for entry in super()._to_send(entries):
            self._hash.update(entry.digest.to_bytes(16, "little"))
            if entry.place % loading.BATCH == 0:
                self._digests[entry.place] = self._hash.hexdigest()
            if entry.place == self._resumed.places and self._hash.hexdigest() != self._resumed.digest:
                raise self._other_passages()
            if entry.place > self._resumed.places:
                yield entry

    def _other_passages(self) -> WorkError:
        return WorkError(
            f"collection {self.index.target}: an interrupted load of it had other passages. What it left is removed: "
            "run the command again."
        )

    def _answered(self, place: int) -> None:
        """Record the complete batches. Requests do not cross batches, so the count is theirs."""
        batches = place - place % loading.BATCH
        if batches > self._noted:
            self._noted, count, sum = batches, self._count, checksum(self._sum)
            digest = self._digests[batches]
            self.index.write(replace(self._meta, count=count, checksum=sum, places=batches, digest=digest))


class Change:
    """A transaction: any number of adds, deletes and vectors, then ``commit`` or ``close``, which drops them.

    :param version: the version when the collection was opened.
    :raises WorkError: if another process is writing to the collection.
    :raises RunError: if it has changed since.
    """

    def __init__(self, target: Target, version: Version) -> None:
        self._index = Index(target, version.name)
        self._vectors = VectorWriter(self._index, version.meta.vectors)
        self._clone: Writer | None = None
        self._lock = Lock(target)
        try:
            index = look_up(target)
            if index is None or Version.of(*index).mark != version.mark:
                raise RunError(f"collection {target} was changed or indexed anew since it was opened: start again.")
            self._version = Version.of(*index)
            sweep(target)
        except BaseException:
            self._lock.release()
            raise

    def add(self, passages: Iterable[Passage]) -> None:
        self._cloned().add(passages)

    def delete(self, ids: Ids) -> None:
        self._cloned().delete(ids)

    def add_vectors(self, ids: Ids, matrix: Matrix, encoder: Encoder, options: VectorOptions | None = None) -> None:
        if self._clone is None:
            self._vectors.add(ids, matrix, encoder, options)
        else:
            self._clone.add_vectors(ids, matrix, encoder, options)

    def commit(self) -> Version:
        """Make all changes visible, and end the transaction. Return the new version."""
        if self._clone is None:
            self._lock.check()
            # Cloning has blocked writes.
            self._index.configure({"blocks.write": None})
            meta = replace(self._version.meta, vectors=self._vectors.commit())
            self._index.write(meta)
            version = replace(self._version, meta=meta)
        else:
            meta = self._clone.finish()
            self._clone.close()
            # From here on the alias may refer to it.
            index, self._clone = self._clone.index, None
            put(index, self._index, self._version.replicas, self._lock)
            version = replace(self._version, name=index.name, meta=meta)
        self.close()
        return version

    def close(self) -> None:
        """End the transaction and drop what was not committed."""
        try:
            if self._clone is not None:
                self._clone.close()
                # The next writer removes what stays.
                with suppress(ConvqaError, RunError):
                    self._clone.index.delete()
                self._clone = None
        finally:
            self._lock.release()

    def _cloned(self) -> Writer:
        if self._clone is None:
            meta = self._version.meta
            self._clone = Writer(self._index.clone(meta.vectors is not None), meta)
            self._vectors.move(self._clone.vectors)
        return self._clone
