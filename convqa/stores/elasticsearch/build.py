"""A new index while it is filled, or an unfinished one that is filled on.

The stream of passages is cut into batches. Whenever all passages of the first n have been answered, the index's record
notes n with a digest of the stream up to there. A build that goes on leaves out the batches whose digests agree,
removes whatever came after them, and sends the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.domain import Passage
from convqa.errors import WorkError
from convqa.stores.base import Encoder, VectorOptions
from convqa.stores.content import checksum, content, digest
from convqa.stores.elasticsearch.bulk import Sender
from convqa.stores.elasticsearch.deletion import delete
from convqa.stores.elasticsearch.index import Index
from convqa.stores.elasticsearch.loading import Loading, with_content
from convqa.stores.elasticsearch.schema import Record, vectors_of
from convqa.stores.elasticsearch.vectors import VectorWriter
from convqa.stores.elasticsearch.writer import check_totals

BATCH = 20_000
"""Passages of which at most so many are sent again after a kill, and as many are held while it is seen how far an
earlier build came."""

Entry = tuple[Passage, bytes, int, int]


class Build:
    """The filling of an index that nobody searches yet.

    :param record: as the index has it; its ``prefix`` is where to go on. :param check: asked before each request.
    """

    def __init__(self, index: Index, record: Record, threads: int, check: Callable[[], None]) -> None:
        self._index, self._record, self._check = index, record, check
        self._loading = Loading(index, record.language, threads, check)
        if record.batches:
            # Vectors are quickly sent again, and may be another encoder's.
            Index(index.target, vectors_of(index.name)).delete()
        self._vectors = VectorWriter(index, 0, check)
        self._hash = blake2b(digest_size=8)
        self._digests: list[str] = []
        self._places = 0
        self._durable = 0
        self._held: list[Entry] | None = [] if record.batches else None
        self._count, self._sum = 0, 0
        self._resumable = True
        self._failed = False

    def add(self, passages: Iterable[Passage]) -> None:
        """See :class:`convqa.stores.elasticsearch.writer.Writer`."""
        self._refuse_failed()
        try:
            self._loading.add(self._entries(passages), self._answered)
        except BaseException:
            self._failed = True
            raise

    def delete(self, ids: Sequence[str]) -> None:
        self._send_held()
        if self._resumable:
            # What was deleted would be missing from the batches that are left out.
            self._resumable = False
            self._give_up_resuming()
        sender = Sender(self._index.target, self._index.name, self._check)
        self._vectors.forget(delete(self._index, sender, ids, self._forget))

    def add_vectors(
        self,
        ids: Sequence[str],
        matrix: NDArray[np.floating[Any]],
        encoder: Encoder,
        options: VectorOptions | None = None,
    ) -> None:
        self._send_held()
        self._vectors.add(ids, matrix, encoder, options)

    def commit(self) -> Record:
        """Let those see what has come so far who know the index by its name.

        :raises WorkError: if the server has not what was sent.
        """
        self._refuse_failed()
        self._send_held()
        self._check()
        self._index.refresh()
        count = self._count + self._loading.counts.total()
        sum = checksum(self._sum + self._loading.sums.total())
        check_totals(self._index, count, sum)
        self._vectors.commit()
        return replace(self._record, count=count, checksum=sum)

    def finish(self) -> Record:
        """Everything is there: the record of the whole index, which is to be written."""
        record = self.commit()
        self._index.merge()
        self._loading.report()
        return replace(record, ready=True, batches=self._places // BATCH + 1, prefix=())

    def close(self) -> None:
        self._loading.close()
        self._vectors.close()

    def _entries(self, passages: Iterable[Passage]) -> Iterator[Entry]:
        """What is to be sent; while the stream goes as that of the earlier build, nothing."""
        for passage, data in with_content(passages):
            entry = passage, data, self._places // BATCH, self._places + 1
            self._hash.update(data)
            self._places += 1
            is_last = self._places % BATCH == 0
            if is_last:
                self._digests.append(self._hash.hexdigest())
            if self._held is None:
                yield entry
                continue
            self._held.append(entry)
            if is_last:
                yield from self._skip()

    def _skip(self) -> Iterator[Entry]:
        """A whole batch is held: leave it out if the earlier build had the same, else send it and all that comes."""
        assert self._held is not None
        number = len(self._digests)
        if self._digests[-1] != self._record.prefix[number - 1]:
            yield from self._diverge()
            return
        self._held.clear()
        self._durable = number
        if number == self._record.batches:
            yield from self._diverge()

    def _diverge(self) -> Iterator[Entry]:
        """From here on everything is sent.

        :raises WorkError: if what the earlier build noted is not there.
        """
        held, self._held = self._held or [], None
        earlier = self._record
        self._give_up_resuming()
        self._index.remove_from(self._durable)
        self._count, self._sum = self._index.totals()
        found = replace(earlier, count=self._count, checksum=checksum(self._sum))
        if self._durable == earlier.batches and found != earlier:
            raise WorkError(
                f"collection {self._index.target}: an unfinished build noted {earlier.count} passages, and "
                f"Elasticsearch has {self._count}. It is removed: run the command again."
            )
        self._record = replace(found, batches=self._durable, prefix=tuple(self._digests[: self._durable]))
        self._index.write(self._record)
        yield from held

    def _send_held(self) -> None:
        if self._held is not None:
            self._loading.add(self._diverge(), self._answered)

    def _answered(self, place: int) -> None:
        """All passages up to a place are in the index: note it for a build that goes on."""
        batches = place // BATCH
        if batches <= self._durable or not self._resumable:
            return
        self._durable = batches
        counts, sums = self._loading.counts, self._loading.sums
        # Of the batches before the first that was sent here, neither has anything.
        self._record = replace(
            self._record,
            batches=batches,
            count=self._count + sum(counts[number] for number in range(batches)),
            checksum=checksum(self._sum + sum(sums[number] for number in range(batches))),
            prefix=tuple(self._digests[:batches]),
        )
        self._index.write(self._record)

    def _refuse_failed(self) -> None:
        if self._failed:
            raise WorkError(f"collection {self._index.target}: an add failed, so that it cannot become whole.")

    def _forget(self, source: Mapping[str, Any]) -> None:
        self._count -= 1
        self._sum -= digest(content(Passage.from_json(source["passage"])))

    def _give_up_resuming(self) -> None:
        """Note that nothing can be left out by a build that goes on."""
        self._index.write(replace(self._record, batches=0, prefix=(), count=0, checksum=checksum(0)))
