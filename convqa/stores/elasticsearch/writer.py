"""Adds and deletes in an index that is searched meanwhile: one transaction, seen when it is committed.

Documents are written at once, and no search sees them before a refresh, which only ``commit`` asks for. They carry the
number of a batch that counts only when the record says so. A transaction that fails removes what it made and puts back
what it deleted. What one that was killed has left is removed by the next writer; what that one had deleted is gone, as
it was to be: repeat it.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from convqa.domain import Passage
from convqa.errors import ConvqaError, RunError, WorkError
from convqa.stores.base import Encoder, VectorOptions
from convqa.stores.content import checksum, content, digest
from convqa.stores.elasticsearch.bulk import Item, Sender, slices
from convqa.stores.elasticsearch.connect import Target
from convqa.stores.elasticsearch.deletion import delete
from convqa.stores.elasticsearch.index import Index, indices_like
from convqa.stores.elasticsearch.lease import Lease
from convqa.stores.elasticsearch.loading import LOOKED_UP, THREADS, Loading, document, with_content
from convqa.stores.elasticsearch.schema import Record, document_id
from convqa.stores.elasticsearch.vectors import VectorWriter
from convqa.text.analysis import Analyzer, analyzer

logger = logging.getLogger(__name__)


class Writer:
    """One transaction on a collection: any number of adds and deletes, then ``commit`` or ``close`` (which drops them).

    :param target: the collection. :param name: the index that its alias means.
    :raises WorkError: if another writer is at work on the collection.
    :raises RunError: if the alias means another index by now.
    """

    def __init__(self, target: Target, name: str, threads: int = THREADS) -> None:
        self._index = Index(target, name)
        self._threads = threads
        self._lease = Lease(target)
        try:
            self._begin()
        except BaseException:
            self._lease.release()
            raise

    def _begin(self) -> None:
        index = self._index
        if index.name not in indices_like(index.target, index.target.index):
            raise RunError(f"collection {index.target} was indexed anew since it was opened: start again.")
        found = Record.of(index.meta(), index.name)
        self._record = replace(found, shown=False)
        self._vectors = VectorWriter(index, self._record.batches, self._lease.check)
        recorded = found.count, int(found.checksum, 16)
        self._count, self._sum = self._repaired() if found.writing else recorded
        self._marked = found.writing
        # Of a deletion that was cut off: only a commit ends it.
        self._mixed = (self._count, self._sum) != recorded
        self._places = 0
        self._loading = Loading(index, self._record.language, self._threads, self._lease.check)
        self._keys = bytearray()
        self._closed = False
        self._shown = False
        self._deleted = tempfile.TemporaryFile()  # noqa: SIM115

    def _repaired(self) -> tuple[int, int]:
        """Remove what a killed transaction left. Returns count and sum of digests of what is there."""
        index, record = self._index, self._record
        index.quiet()
        index.write(replace(record, writing=True, shown=True))
        removed = index.remove_from(record.batches)
        self._vectors.repair()
        index.expunge()
        self._lease.check()
        index.write(record)
        count, sum = index.totals()
        logger.warning("%s: a change was cut off; %d passages that it had added were removed", index.target, removed)
        if (count, checksum(sum)) != (record.count, record.checksum):
            logger.warning(
                "%s: of its %d passages %d are left, as a deletion was cut off: repeat it",
                index.target,
                record.count,
                count,
            )
        return count, sum

    def add(self, passages: Iterable[Passage]) -> None:
        """Add passages; one that is there already, word for word, is skipped.

        :raises InputError: for an id that is there with another content.
        """
        self._mark()
        self._loading.add(self._entries(passages), lambda _: None)

    def _entries(self, passages: Iterable[Passage]) -> Iterator[tuple[Passage, bytes, int, int]]:
        for passage, data in with_content(passages):
            self._keys += bytes.fromhex(document_id(passage.id))
            self._places += 1
            yield passage, data, self._record.batches, self._places

    def delete(self, ids: Sequence[str]) -> None:
        """Delete passages by id; ids that are not there are counted in one warning."""
        self._mark()
        self._vectors.forget(delete(self._index, self._sender(), ids, self._remember))

    def _remember(self, source: Mapping[str, Any]) -> None:
        """Note what is about to be deleted, so that it can be put back."""
        data = content(Passage.from_json(source["passage"]))
        self._count -= 1
        self._sum -= digest(data)
        if source["batch"] != self._record.batches:
            line = {"batch": source["batch"], "place": source["place"], "passage": orjson.Fragment(data.rstrip())}
            self._deleted.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))

    def add_vectors(
        self,
        ids: Sequence[str],
        matrix: NDArray[np.floating[Any]],
        encoder: Encoder,
        options: VectorOptions | None = None,
    ) -> None:
        """See :class:`convqa.stores.base.WritableStore`."""
        self._mark()
        self._vectors.add(ids, matrix, encoder, options)

    def commit(self) -> Record:
        """Make all that was added and deleted visible, and end the transaction. Returns the new record.

        :raises WorkError: if the server has not what was sent.
        """
        record = self._record
        if self._marked:
            self._lease.check()
            self._shown = True
            self._index.write(replace(record, writing=True, shown=True))
            self._index.refresh()
            count = self._count + self._loading.counts[record.batches]
            sum = checksum(self._sum + self._loading.sums[record.batches])
            self._check(count, sum)
            # Before the record: what it says is there is also what scores count.
            self._index.expunge()
            self._vectors.commit()
            record = replace(record, count=count, checksum=sum, batches=record.batches + 1, writing=False)
            self._lease.check()
            self._index.write(record)
            self._marked = False
        self._loading.report()
        self.close()
        return record

    def _check(self, count: int, sum: str) -> None:
        try:
            check_totals(self._index, count, sum)
        except WorkError:
            self._mixed = True
            raise

    def close(self) -> None:
        """End; what was not committed is dropped."""
        if self._closed:
            return
        self._closed = True
        try:
            self._loading.close()
            if self._marked:
                self._undo()
        except (ConvqaError, RunError) as error:
            logger.warning("%s: a failed change could not be undone (%s): the next one does it", self._name(), error)
        finally:
            self._deleted.close()
            self._vectors.close()
            self._lease.release()

    def _undo(self) -> None:
        batch, sender = self._record.batches, self._sender()
        keys = [self._keys[start : start + 16].hex() for start in range(0, len(self._keys), 16)]
        for piece in slices(keys, LOOKED_UP):
            found = self._index.documents(piece, ("batch",))
            mine = [key for key, source in zip(piece, found, strict=True) if source and source["batch"] == batch]
            sender.send("delete", [Item(key, key) for key in dict.fromkeys(mine)])
        self._deleted.seek(0)
        words = analyzer(self._record.language)
        while lines := list(islice(self._deleted, LOOKED_UP)):
            sender.send("index", [_restored(words, orjson.loads(line)) for line in lines])
        self._vectors.undo()
        if self._shown:
            self._index.refresh()
            self._index.expunge()
        self._lease.check()
        # What came from elsewhere is removed by the next writer.
        self._index.write(replace(self._record, writing=self._mixed))
        self._marked = False

    def _mark(self) -> None:
        """Say in the index that a transaction is at work, before it changes anything."""
        if not self._marked:
            self._lease.check()
            self._index.write(replace(self._record, writing=True))
            self._marked = True

    def _sender(self) -> Sender:
        return Sender(self._index.target, self._index.name, self._lease.check)

    def _name(self) -> str:
        return str(self._index.target)


def check_totals(index: Index, count: int, sum: str) -> None:
    """Raise unless a refreshed index has just the passages that were sent.

    :raises WorkError: with both counts.
    """
    found, digests = index.totals()
    if (found, checksum(digests)) != (count, sum):
        raise WorkError(
            f"collection {index.target}: {count} passages with checksum {sum} were sent, and Elasticsearch has {found} "
            f"with {checksum(digests)}. Did something else write to {index.name}? Run the command again."
        )


def _restored(words: Analyzer, source: Mapping[str, Any]) -> Item:
    passage = Passage.from_json(source["passage"])
    return document(words, passage, content(passage), source["batch"], source["place"])
