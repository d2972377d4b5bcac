"""Bulk-index documents, retrying rejected ones without duplicates."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, TypeVar

from elasticsearch import ApiError

from convqa.errors import InputError, StoreUnavailable, WorkError
from convqa.stores.elasticsearch.client import Again, ask, client
from convqa.stores.elasticsearch.errors import BLOCKED, BUSY, blocked
from convqa.stores.elasticsearch.schema import Item
from convqa.stores.elasticsearch.target import Target

ITEMS = 2000
BYTES = 20_000_000
"""Maximum bytes per request; a larger document is sent alone."""

PATIENCE = 120.0
"""Seconds for which requests to a busy or silent server are retried."""

_TIMEOUT = 120.0
_TOO_LARGE = 413
_CONFLICT, _MISSING = 409, 404
_KEPT = "errors,items.*.status,items.*.error.type,items.*.error.reason"

T = TypeVar("T")
Action = Literal["create", "index", "delete"]


class Sender:
    """Sends documents to one index; safe for threads."""

    def __init__(self, target: Target, index: str) -> None:
        self._target, self._index = target, index
        self._client = client(target).options(request_timeout=_TIMEOUT)
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End pauses before retries; any later request raises a ``WorkError``."""
        self._stopped.set()

    def send(self, action: Action, items: Sequence[Item]) -> list[Item]:
        """Send items until each is answered. Return those whose document exists (to create) or is missing (to delete).

        :raises InputError: for a document that the server cannot index.
        :raises WorkError: for a document that it refuses for another reason.
        :raises StoreUnavailable: if it stays busy or away for longer than ``PATIENCE``.
        """
        waiting, refused = list(items), list[Item]()

        def attempt(_: object) -> list[Item]:
            nonlocal waiting
            if self._stopped.is_set():
                raise WorkError(f"collection {self._target}: an earlier request failed, so it cannot be completed.")
            try:
                answers = self._request(action, waiting)
            except ApiError as error:
                if error.meta.status != _TOO_LARGE:
                    raise
                return refused + self._halves(action, waiting)
            waiting = self._sort(action, waiting, answers, refused)
            if waiting:
                raise Again(
                    StoreUnavailable(
                        f"Elasticsearch at {self._target.http} is too busy: it rejected {len(waiting)} documents for "
                        f"{PATIENCE:.0f} s. Try again later, with fewer threads, or give the server more memory."
                    )
                )
            return refused

        return ask(self._target, attempt, PATIENCE, waits=True, sleep=self._stopped.wait) if waiting else []

    def _request(self, action: Action, items: Sequence[Item]) -> list[Any]:
        """Return the answer to each item; empty if all succeeded."""
        verb = f'{{"{action}":{{"_id":"'.encode()
        lines: list[bytes] = []
        for item in items:
            lines.append(verb + item.key.encode() + b'"}}')
            if item.body:
                lines.append(item.body)
        # The client accepts lines of JSON, against its type.
        body: Any = [b"\n".join(lines)]
        answer = self._client.bulk(index=self._index, operations=body, filter_path=_KEPT).body
        return list(answer["items"]) if answer["errors"] else []

    def _halves(self, action: Action, items: list[Item]) -> list[Item]:
        """Send items in two requests: the server, or a proxy, refused the size of one."""
        if len(items) == 1:
            raise InputError(
                f"passage {items[0].id!r} has {len(items[0].body):,} bytes, more than the server accepts in a request. "
                "Split it, or raise http.max_content_length."
            )
        middle = len(items) // 2
        return self.send(action, items[:middle]) + self.send(action, items[middle:])

    def _sort(self, action: Action, items: list[Item], answers: list[Any], refused: list[Item]) -> list[Item]:
        """Return the items to send again."""
        again: list[Item] = []
        for item, answer in zip(items, answers, strict=bool(answers)):
            status, error = answer[action]["status"], answer[action].get("error", {})
            if status < 300:
                continue
            if status == _CONFLICT or (action == "delete" and status == _MISSING):
                refused.append(item)
            elif error.get("type") == BLOCKED:
                raise blocked(self._index, error.get("reason", ""), self._target)
            elif status in BUSY:
                again.append(item)
            else:
                reason = f"{error.get('type', '')}: {error.get('reason', '')[:300]}"
                raise (InputError if status == 400 else WorkError)(
                    f"passage {item.id!r} was refused by Elasticsearch at {self._target.http} (status {status}, "
                    f"{reason})"
                )
        return again


def slices(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]


def chunks(items: Iterable[Item], batch: int = 0) -> Iterator[list[Item]]:
    """Cut items into one list per request; none crosses a multiple of ``batch`` places."""
    chunk: list[Item] = []
    size = 0
    for item in items:
        before = chunk[-1].entry if chunk else None
        is_full = len(chunk) == ITEMS or size + len(item.body) > BYTES
        if chunk and (is_full or (batch and before is not None and before.place % batch == 0)):
            yield chunk
            chunk, size = [], 0
        chunk.append(item)
        size += len(item.body)
    if chunk:
        yield chunk
