"""Who may write to a collection: one process at a time, by a document in an index beside it (``NAME-lock``).

The holder writes the document again every few seconds. One that has stood still for ``LEASE`` seconds may be taken, by
a write that only the first of several gets through; that of a process of this machine which is gone, at once. No clocks
are compared. The index stays, empty and hidden, until the collection is deleted.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from elastic_transport import TransportError
from elasticsearch import ApiError, Elasticsearch

from convqa.errors import RunError, WorkError
from convqa.stores.elasticsearch.connect import Target, asking, client

logger = logging.getLogger(__name__)

_alive: set[str] = set()
"""Owners of this process that were not released: where the server was away then, the lock is there still."""

LEASE = 30.0
"""Seconds after which a lock that nobody renews may be taken."""

_BEAT = 5.0
_LATEST = 15.0
"""Seconds after the last renewal when the holder asks whether it still is."""
_POLL = 0.5
_SHORT = 5.0
"""Seconds that a request may take which nothing depends on: the next beat, or the next writer, does without."""
_ID = "writer"
_CONFLICT = 409
_FORBIDDEN = 403


class LeaseLost(RunError):
    """Another process writes now: this one stood still for too long."""


def lock_of(name: str) -> str:
    """The index of a collection's lock."""
    return f"{name}-lock"


class Lease:
    """The right to write to a collection, from its making until ``release``.

    :raises WorkError: if another process has it.
    """

    def __init__(self, target: Target) -> None:
        self._target, self._client, self._index = target, client(target), lock_of(target.index)
        self._quick = self._client.options(request_timeout=_SHORT, max_retries=0)
        self._document = {"owner": uuid.uuid4().hex, "host": socket.gethostname(), **_myself()}
        self._version: tuple[int, int] = (0, 0)
        self._renewed = 0.0
        self._lock = threading.Lock()
        self._ended = threading.Event()
        _alive.add(self._document["owner"])
        self._make_index()
        taken = self._write()
        while not taken:
            over = self._abandoned()
            if over is None:
                # Its holder may have removed the index, too.
                self._make_index()
            taken = self._write(over)
        self._heart = threading.Thread(target=self._beat, name=f"lease {target}", daemon=True)
        self._heart.start()

    def check(self) -> None:
        """Raise unless this process still has the lease. Cheap: asked before every request that writes.

        :raises LeaseLost: if another process has it.
        """
        if time.monotonic() - self._renewed > _LATEST:
            asking(self._target, lambda: self._renew(self._client))

    def release(self) -> None:
        """Let others write. Does not wait for a server that is away."""
        self._stop()
        number, term = self._version
        # What cannot be removed is taken from a process that is gone.
        with suppress(ApiError, TransportError):
            self._quick.delete(index=self._index, id=_ID, if_seq_no=number, if_primary_term=term)

    def remove(self) -> None:
        """Release it, and remove its index: the collection is no more.

        :raises LeaseLost: if another process has it, whose index it is now.
        """
        self._stop()
        # Nobody takes over what was renewed just now.
        asking(self._target, lambda: self._renew(self._client))
        asking(self._target, lambda: self._client.indices.delete(index=self._index, ignore_unavailable=True))

    def _stop(self) -> None:
        self._ended.set()
        self._heart.join(2 * _SHORT)
        _alive.discard(self._document["owner"])

    def _make_index(self) -> None:
        # On an index that is there, this is refused with status 400.
        settings = {"number_of_shards": 1, "auto_expand_replicas": "0-1", "hidden": True}
        quiet = self._client.options(ignore_status=400)
        asking(
            self._target,
            lambda: quiet.indices.create(index=self._index, settings=settings, mappings={"enabled": False}),
        )

    def _write(self, over: Mapping[str, Any] | None = None) -> bool:
        """Write the document in the place of none, or of the one that was seen. False: somebody was faster."""
        seen = (
            {"if_seq_no": over["_seq_no"], "if_primary_term": over["_primary_term"]} if over else {"op_type": "create"}
        )
        quiet = self._client.options(ignore_status=409)
        answer = asking(self._target, lambda: quiet.index(index=self._index, id=_ID, document=self._document, **seen))
        if answer.meta.status == _CONFLICT:
            return self._is_mine()
        self._note(answer.body)
        return True

    def _is_mine(self) -> bool:
        """Whether the document is ours after all: a request that was sent twice."""
        found = self._seen()
        if found is None or found["_source"]["owner"] != self._document["owner"]:
            return False
        self._note(found)
        return True

    def _note(self, answer: Mapping[str, Any]) -> None:
        self._version = answer["_seq_no"], answer["_primary_term"]
        self._renewed = time.monotonic()

    def _seen(self) -> Mapping[str, Any] | None:
        quiet = self._client.options(ignore_status=404)
        found: Mapping[str, Any] = asking(self._target, lambda: quiet.get(index=self._index, id=_ID)).body
        return found if found.get("found") else None

    def _abandoned(self) -> Mapping[str, Any] | None:
        """The lock that is there, when its holder is gone; None if there is none any more.

        :raises WorkError: as soon as the holder gives a sign of life.
        """
        first = self._seen()
        if first is None:
            return None
        holder = first["_source"]
        deadline = time.monotonic() + LEASE
        while not _is_gone(holder):
            now = self._seen()
            if now is None:
                return None
            if _is_here(holder) or now["_seq_no"] != first["_seq_no"]:
                raise WorkError(
                    f"collection {self._target} is being written by another process (pid {holder['pid']} on "
                    f"{holder['host']}); try again later"
                )
            if time.monotonic() > deadline:
                break
            time.sleep(_POLL)
        logger.info("%s: pid %s on %s, which wrote to it, is gone", self._target, holder["pid"], holder["host"])
        return first

    def _beat(self) -> None:
        while not self._ended.wait(_BEAT):
            # A server that does not answer now may do so later; check says when it is too late.
            with suppress(ApiError, TransportError, RunError, WorkError):
                self._renew(self._quick)

    def _renew(self, known: Elasticsearch) -> None:
        with self._lock:
            number, term = self._version
            quiet = known.options(ignore_status=(404, 409))
            answer = quiet.index(
                index=self._index, id=_ID, document=self._document, if_seq_no=number, if_primary_term=term
            )
            if answer.meta.status < 400:
                self._note(answer.body)
            elif not self._is_mine():
                self._renewed = 0.0
                raise LeaseLost(
                    f"collection {self._target} is being written by another process now, since this one stood still "
                    "for too long; run the command again when it has ended."
                )


def is_written(target: Target) -> bool:
    """Whether a process that lives has a collection's lease. One of another machine is watched until it gives a sign
    of life, for ``LEASE`` seconds at most; where the lock may not be read, there is one.
    """
    quiet = client(target).options(ignore_status=(403, 404))
    deadline = time.monotonic() + LEASE
    first: int | None = None
    while True:
        answer = asking(target, lambda: quiet.get(index=lock_of(target.index), id=_ID))
        if not answer.body.get("found"):
            return bool(answer.meta.status == _FORBIDDEN)
        holder, number = answer.body["_source"], answer.body["_seq_no"]
        if _is_here(holder):
            return not _is_gone(holder)
        first = number if first is None else first
        if number != first or time.monotonic() > deadline:
            return bool(number != first)
        time.sleep(_POLL)


def _myself() -> dict[str, Any]:
    """This process, so that others of the same machine can see whether it is gone."""
    return {"machine": _machine(), "pid": os.getpid(), "started": _started(os.getpid())}


def _machine() -> str:
    """The same for all processes that see each other's numbers; "" where that cannot be told."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _started(pid: int) -> str:
    """When a process of this machine began, in its kernel's ticks; "" if there is none (or only its remains)."""
    try:
        values = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if values[0] in "ZX" else values[19]


def _is_here(holder: Mapping[str, Any]) -> bool:
    """Whether the holder is a process of this machine, so that it can be told whether it lives."""
    return bool(holder["machine"]) and holder["machine"] == _machine()


def _is_gone(holder: Mapping[str, Any]) -> bool:
    if not _is_here(holder):
        return False
    given_up = holder["pid"] == os.getpid() and holder["owner"] not in _alive
    return given_up or _started(holder["pid"]) != holder["started"]
