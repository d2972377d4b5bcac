"""Bulk-load passages: analyse them, send them in threads, and recognise existing ones."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from convqa.domain import Passage
from convqa.errors import InputError
from convqa.stores.content import content, digest, duplicate
from convqa.stores.elasticsearch.bulk import Sender, chunks
from convqa.stores.elasticsearch.index import Index
from convqa.stores.elasticsearch.reading import Reader
from convqa.stores.elasticsearch.schema import LONGEST_ID, Entry, Item, document
from convqa.text.analysis import analyzer

logger = logging.getLogger(__name__)

THREADS = 4
"""Sending threads; one more analyses."""

BATCH = 20_000
"""Passages per batch: the most that are sent again after a kill, or held while resuming."""


class Loading:
    """Adds passages to an index; memory holds a few requests."""

    def __init__(self, index: Index, language: str, threads: int) -> None:
        self._reader = Reader(index.target, index.name)
        self._analyzer = analyzer(language)
        self._sender = Sender(index.target, index.name)
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="bulk")
        self._window = threads + 2
        self._repeated = 0

    def send(self, entries: Iterable[Entry]) -> Iterator[tuple[int, int, int]]:
        """Send passages in requests that cross no batch. Yield for each the number of added passages, the sum of their
        digests, and the place up to which all are in the index.

        :raises DuplicatePassage: for an existing id with other content.
        """
        sent: deque[tuple[int, Future[tuple[int, int, int]]]] = deque()

        def answered() -> tuple[int, int, int]:
            size, future = sent.popleft()
            count, sum, place = future.result()
            self._repeated += size - count
            return count, sum, place

        try:
            for chunk in chunks((document(self._analyzer, entry) for entry in entries), BATCH):
                if len(sent) == self._window:
                    yield answered()
                sent.append((len(chunk), self._executor.submit(self._create, chunk)))
            while sent:
                yield answered()
        except BaseException:
            self._sender.stop()
            raise

    def close(self) -> None:
        self._sender.stop()
        self._executor.shutdown(wait=True, cancel_futures=True)

    def report(self) -> None:
        if self._repeated:
            logger.warning("%d passages came again with the same id and content: kept once", self._repeated)

    def _create(self, items: Sequence[Item]) -> tuple[int, int, int]:
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
