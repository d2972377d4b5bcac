"""Passages on their way into an index: analysed and packed here, sent by a few threads, told from what is there."""

from __future__ import annotations

import logging
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import orjson

from convqa.domain import Passage
from convqa.errors import InputError
from convqa.stores.content import content, digest, duplicate, meta_term
from convqa.stores.elasticsearch.bulk import Item, Sender, chunks, slices
from convqa.stores.elasticsearch.index import Index
from convqa.stores.elasticsearch.schema import LONGEST_ID, document_id, parts
from convqa.text.analysis import Analyzer, analyzer

logger = logging.getLogger(__name__)

THREADS = 4
"""That send; one more analyses."""

LOOKED_UP = 500
"""Documents of one request."""


class Loading:
    """Adds passages to an index. An ``add`` returns when each has its answer; memory holds a few requests.

    ``counts`` and ``sums`` are of the passages that were taken, by batch; ``repeated`` were there, word for word.

    :param check: see :class:`convqa.stores.elasticsearch.bulk.Sender`.
    """

    def __init__(self, index: Index, language: str, threads: int, check: Callable[[], None]) -> None:
        self._index = index
        self._analyzer = analyzer(language)
        self._sender = Sender(index.target, index.name, check)
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="bulk")
        self._window = threads + 2
        self._lock = threading.Lock()
        self.counts: Counter[int] = Counter()
        self.sums: Counter[int] = Counter()
        self.repeated = 0

    def add(self, entries: Iterable[tuple[Passage, bytes, int, int]], done: Callable[[int], None]) -> None:
        """Send passages, each with its content, batch and place.

        :param done: called with a place: all up to and including it are in the index.
        :raises DuplicatePassage: for an id that is there with another content.
        """
        sent: deque[tuple[int, Future[None]]] = deque()
        try:
            for chunk in chunks(document(self._analyzer, *entry) for entry in entries):
                if len(sent) == self._window:
                    place, oldest = sent.popleft()
                    oldest.result()
                    done(place)
                sent.append((chunk[-1].mark[1], self._executor.submit(self._create, chunk)))
            for place, future in sent:
                future.result()
                done(place)
        except BaseException:
            self._sender.stop()
            raise

    def close(self) -> None:
        """End; waits for requests that are on their way."""
        self._sender.stop()
        self._executor.shutdown(wait=True, cancel_futures=True)
        self._sender.report()

    def report(self) -> None:
        """Say once what came again."""
        if self.repeated:
            logger.warning("%d passages came again with the same id and content: kept once", self.repeated)

    def _create(self, items: Sequence[Item]) -> None:
        while items:
            outcome = self._sender.send("create", items)
            self._count(outcome.done)
            items = self._settle(outcome.refused)

    def _count(self, items: Iterable[Item]) -> None:
        sums = [(item.mark[0], digest(item.content)) for item in items]
        with self._lock:
            for batch, sum in sums:
                self.counts[batch] += 1
                self.sums[batch] += sum

    def _settle(self, refused: Sequence[Item]) -> list[Item]:
        """For passages whose id is there: why? Returns those that are to be sent again, as it is there no longer."""
        gone: list[Item] = []
        for items in slices(refused, LOOKED_UP):
            found = self._index.documents([item.key for item in items], ("batch", "place", "passage"))
            for item, there in zip(items, found, strict=True):
                if there is None:
                    gone.append(item)
                elif (there["batch"], there["place"]) == item.mark:
                    # A request that was sent again had been carried out.
                    self._count([item])
                else:
                    self._compare(item, there)
        return gone

    def _compare(self, item: Item, there: Mapping[str, Any]) -> None:
        passage = Passage.from_json(orjson.loads(item.content))
        if content(Passage.from_json(there["passage"])) != item.content:
            raise duplicate(there["passage"]["text"], passage)
        with self._lock:
            self.repeated += 1


def with_content(passages: Iterable[Passage]) -> Iterator[tuple[Passage, bytes]]:
    """Passages with what is stored of them.

    :raises InputError: for one that cannot be stored.
    """
    for passage in passages:
        data = content(passage)
        if len(passage.id) > LONGEST_ID // 4 and len(passage.id.encode()) > LONGEST_ID:
            raise InputError(
                f"passage {passage.id[:60]!r}... has an id of {len(passage.id.encode()):,} bytes; Elasticsearch takes "
                f"{LONGEST_ID:,}. Shorten it."
            )
        yield passage, data


def document(analyzer: Analyzer, passage: Passage, data: bytes, batch: int, place: int) -> Item:
    """A passage as the server gets it (schema.py)."""
    body = {
        "pid": passage.id,
        "tokens": " ".join(analyzer.tokens(passage.title) + analyzer.tokens(passage.text)),
        "meta": [meta_term(name, value) for name, value in passage.meta.items()],
        "passage": orjson.Fragment(data.rstrip()),
        "batch": batch,
        "place": place,
        **parts(digest(data)),
    }
    return Item(document_id(passage.id), passage.id, orjson.dumps(body), data, (batch, place))
