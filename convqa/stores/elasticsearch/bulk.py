"""Sending documents: many in a request, again what a busy server turned away, and never one twice."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from elastic_transport import ConnectionError, ConnectionTimeout, TlsError, TransportError
from elasticsearch import ApiError

from convqa.errors import InputError, StoreUnavailable, WorkError
from convqa.stores.elasticsearch.connect import Target, client
from convqa.stores.elasticsearch.errors import BLOCKED, BUSY, blocked, cause, translated

logger = logging.getLogger(__name__)

ITEMS = 2000
BYTES = 20_000_000
"""Of one request, at most; a larger document goes alone."""

PATIENCE = 120.0
"""Seconds for which a request is sent again to a server that is too busy, or does not answer."""

_TIMEOUT = 120.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 10.0
_TOO_LARGE = 413
_CONFLICT, _MISSING = 409, 404
_KEPT = "errors,items.*.status,items.*.error.type,items.*.error.reason"

T = TypeVar("T")
Action = Literal["create", "index", "delete"]


@dataclass(frozen=True, slots=True)
class Item:
    """One document: its ``_id``, the passage's id for messages, and its JSON (empty for a deletion)."""

    key: str
    id: str
    body: bytes = b""
    content: bytes = b""
    """The passage as :func:`convqa.stores.content.content` makes it."""
    mark: tuple[int, int] = (0, 0)
    """Batch and place: no other document of the index has both."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of the items of a request: what was done, and what was not as something (or nothing) was there."""

    done: list[Item]
    refused: list[Item]


class Stopped(Exception):
    """The sender was told to stop."""


class Sender:
    """Sends to one index; safe for threads. ``again`` counts the documents that were sent more than once.

    :param check: called before each request; what it raises ends the sending.
    """

    def __init__(self, target: Target, index: str, check: Callable[[], None]) -> None:
        self._target, self._index, self._check = target, index, check
        self._client = client(target).options(request_timeout=_TIMEOUT)
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self.again = 0

    def stop(self) -> None:
        """Wake those who wait for a busy server; whatever is sent from now on raises ``Stopped``."""
        self._stopped.set()

    def report(self) -> None:
        """Say once how often the server was busy."""
        if self.again:
            logger.warning(
                "%s: %d documents were sent again, since the server was too busy or did not answer",
                self._target,
                self.again,
            )
            self.again = 0

    def send(self, action: Action, items: Sequence[Item]) -> Outcome:
        """Send items until each has its answer.

        :raises InputError: for a document that the server cannot take.
        :raises WorkError: for one that it refuses for another reason.
        :raises StoreUnavailable: when it stays busy or away for longer than ``PATIENCE``.
        """
        done: list[Item] = []
        refused: list[Item] = []
        waiting = list(items)
        if not waiting:
            return Outcome(done, refused)
        for pause in self._pauses():
            waiting, error = self._try(action, waiting, done, refused)
            if error is None:
                break
            with self._lock:
                self.again += len(waiting)
            if pause is None:
                raise error
            if self._stopped.wait(pause):
                raise Stopped
        return Outcome(done, refused)

    def _pauses(self) -> Iterator[float | None]:
        """How long to wait before the next try; None when it was the last."""
        deadline, pause = time.monotonic() + PATIENCE, _FIRST_PAUSE
        while time.monotonic() + pause < deadline:
            yield pause * random.uniform(0.75, 1.25)
            pause = min(2 * pause, _LONGEST_PAUSE)
        yield None

    def _try(
        self, action: Action, items: list[Item], done: list[Item], refused: list[Item]
    ) -> tuple[list[Item], BaseException | None]:
        """One request. Returns what has to be sent again, and why; or nothing."""
        if self._stopped.is_set():
            raise Stopped
        self._check()
        try:
            answer = self._request(action, items)
        except (ApiError, TransportError) as error:
            if isinstance(error, ApiError) and error.meta.status == _TOO_LARGE:
                return self._halve(action, items, done, refused)
            if not passes(error):
                raise translated(error, self._target) from None
            return items, translated(error, self._target)
        if not answer["errors"]:
            done += items
            return [], None
        return self._sort(action, items, answer["items"], done, refused)

    def _request(self, action: Action, items: Sequence[Item]) -> Any:
        verb = f'{{"{action}":{{"_id":"'.encode()
        lines: list[bytes] = []
        for item in items:
            lines.append(verb + item.key.encode() + b'"}}')
            if item.body:
                lines.append(item.body)
        # The client takes lines that are JSON already, whatever its types say.
        body: Any = [b"\n".join(lines)]
        return self._client.bulk(index=self._index, operations=body, filter_path=_KEPT).body

    def _halve(
        self, action: Action, items: list[Item], done: list[Item], refused: list[Item]
    ) -> tuple[list[Item], BaseException | None]:
        """The server, or a proxy before it, takes no request of this size."""
        if len(items) == 1:
            raise InputError(
                f"passage {items[0].id!r} has {len(items[0].body):,} bytes, more than the server takes in one request. "
                "Split it, or raise http.max_content_length."
            )
        middle = len(items) // 2
        for half in (items[:middle], items[middle:]):
            outcome = self.send(action, half)
            done += outcome.done
            refused += outcome.refused
        return [], None

    def _sort(
        self, action: Action, items: list[Item], answers: list[Any], done: list[Item], refused: list[Item]
    ) -> tuple[list[Item], BaseException | None]:
        again: list[Item] = []
        error: BaseException | None = None
        for item, answer in zip(items, answers, strict=True):
            status, told = answer[action]["status"], answer[action].get("error", {})
            if status < 300:
                done.append(item)
            elif status == _CONFLICT or (action == "delete" and status == _MISSING):
                refused.append(item)
            elif told.get("type") == BLOCKED:
                raise blocked(self._index, told.get("reason", ""), self._target)
            elif status in BUSY:
                again.append(item)
                error = StoreUnavailable(
                    f"Elasticsearch at {self._target.http} is too busy: it turned {len(items)} documents away for "
                    f"{PATIENCE:.0f} s (status {status}: {told.get('reason', '')[:200]}). Try again later, with fewer "
                    "threads, or give the server more memory."
                )
            else:
                raise self._fault(item, status, told)
        return again, error

    def _fault(self, item: Item, status: int, told: dict[str, str]) -> InputError | WorkError:
        reason = f"{told.get('type', '')}: {told.get('reason', '')[:300]}"
        kind = InputError if status == 400 else WorkError
        return kind(
            f"passage {item.id!r} was refused by Elasticsearch at {self._target.http} (status {status}, {reason})"
        )


def passes(error: ApiError | TransportError) -> bool:
    """Whether a request may be sent again after a while: the server is busy, is starting, or did not answer."""
    if isinstance(error, ApiError):
        return error.meta.status in BUSY and cause(error.body)[0] != BLOCKED
    return isinstance(error, ConnectionError | ConnectionTimeout) and not isinstance(error, TlsError)


def chunks(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Items in lists for one request each."""
    chunk: list[Item] = []
    size = 0
    for item in items:
        if chunk and (len(chunk) == ITEMS or size + len(item.body) > BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(item)
        size += len(item.body)
    if chunk:
        yield chunk


def slices(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """A sequence in pieces of this size, and one for the rest."""
    for start in range(0, len(values), size):
        yield values[start : start + size]
