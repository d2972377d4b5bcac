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
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b

from convqa.domain import Passage
from convqa.errors import ConvqaError, InputError, RunError, WorkError
from convqa.stores.base import Encoder, Ids, Matrix, VectorOptions
from convqa.stores.content import checksum, content, digest, duplicate
from convqa.stores.elasticsearch.bulk import Sender, chunks, slices
from convqa.stores.elasticsearch.index import Index, look_up, put, sweep
from convqa.stores.elasticsearch.lock import Lock
from convqa.stores.elasticsearch.reading import Reader
from convqa.stores.elasticsearch.schema import LONGEST_ID, Entry, Item, Meta, Version, document, document_id
from convqa.stores.elasticsearch.target import Target
from convqa.stores.elasticsearch.vectors import VectorWriter
from convqa.text.analysis import analyzer

logger = logging.getLogger(__name__)

THREADS = 4
"""Sending threads; one more analyses."""

BATCH = 20_000
"""Passages per batch: the most that are sent again after a kill."""

_DELETED = 500


class Writer:
    """Adds and deletes passages and vectors of one index; ``finish`` verifies the result."""

    def __init__(self, index: Index, meta: Meta, threads: int = THREADS) -> None:
        self.index, self._meta = index, meta
        self.vectors = VectorWriter(index, meta.vectors)
        self._analyzer = analyzer(meta.language)
        self._reader = Reader(index.target, index.name)
        self._sender = Sender(index.target, index.name)
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="bulk")
        self._window = threads + 2
        self._count, self._sum, self._places = meta.count, int(meta.checksum, 16), meta.places
        self._repeated = 0
        self._has_deleted = self._merges = False

    def add(self, passages: Iterable[Passage]) -> None:
        """Send passages in requests that cross no batch; memory holds a few requests.

        :raises InputError: for an existing id with other content.
        """
        sent: deque[tuple[int, Future[tuple[int, int, int]]]] = deque()
        entries = self._to_send(numbered(passages, self._places))
        try:
            for chunk in chunks((document(self._analyzer, entry) for entry in entries), BATCH):
                if len(sent) == self._window:
                    self._await(*sent.popleft())
                sent.append((len(chunk), self._executor.submit(self._create, chunk)))
            while sent:
                self._await(*sent.popleft())
        except BaseException:
            self._sender.stop()
            raise

    def _await(self, size: int, request: Future[tuple[int, int, int]]) -> None:
        count, sum, place = request.result()
        self._repeated += size - count
        self._count += count
        self._sum += sum
        self._answered(place)

    def _create(self, items: Sequence[Item]) -> tuple[int, int, int]:
        """Return the number of added passages, the sum of their digests, and the place of the last item."""
        added = {_entry(item).place: _entry(item).digest for item in items}
        waiting = items
        while waiting:
            refused = self._sender.send("create", waiting)
            existing = self._reader.documents([item.key for item in refused], ("place", "passage"), realtime=True)
            for item in refused:
                # At the same place it is this passage, of a request that succeeded and was sent again.
                entry, stored = _entry(item), existing.get(item.key)
                if stored is not None and stored["place"] != entry.place:
                    if content(Passage.from_json(stored["passage"])) != entry.content:
                        raise duplicate(stored["passage"]["text"], entry.passage)
                    del added[entry.place]
            # Those that were deleted meanwhile are sent again.
            waiting = [item for item in refused if item.key not in existing]
        return len(added), sum(added.values()), _entry(items[-1]).place

    def delete(self, ids: Ids) -> None:
        """Delete passages with their vectors; log how many ids are unknown."""
        deleted = 0
        for piece in slices(ids, _DELETED):
            id_of = {key: id for id in piece if (key := document_id(id))}
            sources = self._reader.documents(list(id_of), ("passage",), realtime=True)
            for source in sources.values():
                self._count -= 1
                self._sum -= digest(content(Passage.from_json(source["passage"])))
            self._sender.send("delete", [Item(key, id_of[key]) for key in sources])
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
        """Refresh the index; raise a ``WorkError`` unless it has as many passages as were sent."""
        self.index.refresh()
        self.index.check_count(self._count)
        vectors, sum = self.vectors.commit(), checksum(self._sum)
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
        if self._repeated:
            logger.warning("%d passages came again with the same id and content: kept once", self._repeated)
        self.index.write(meta)
        return meta

    def close(self) -> None:
        self._sender.stop()
        self._executor.shutdown(wait=True, cancel_futures=True)

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
            if entry.place % BATCH == 0:
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
        batches = place - place % BATCH
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


def numbered(passages: Iterable[Passage], place: int) -> Iterator[Entry]:
    """Number passages after a place, with their contents and digests; refuse those that cannot be stored."""
    for number, passage in enumerate(passages, place + 1):
        data = content(passage)
        if len(passage.id) > LONGEST_ID // 4 and len(passage.id.encode()) > LONGEST_ID:
            raise InputError(
                f"passage {passage.id[:60]!r}... has an id of {len(passage.id.encode()):,} bytes; Elasticsearch takes "
                f"{LONGEST_ID:,}. Shorten it."
            )
        yield Entry(passage, data, digest(data), number)


def _entry(item: Item) -> Entry:
    assert item.entry is not None
    return item.entry
