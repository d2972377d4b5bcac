"""The lock of a collection: one process at a time may write, by a document in an index of its own (``NAME-lock``).

The document says whose it is. That of a process of this machine which is gone is taken silently; that of another
machine stays until its holder releases it, or somebody calls :func:`take_over`. The index stays, empty and hidden,
until the collection is deleted.
"""

from __future__ import annotations

import logging
import os
import socket
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from elastic_transport import ObjectApiResponse, TransportError
from elasticsearch import ApiError, Elasticsearch

from convqa.errors import WorkError
from convqa.stores.elasticsearch.client import ask, client
from convqa.stores.elasticsearch.target import Target

logger = logging.getLogger(__name__)

_SHORT = 5.0
"""Seconds that a release may take: what stays is taken from a process that is gone."""
_ID = "writer"
_CONFLICT = 409


def lock_of(name: str) -> str:
    """The index of a collection's lock."""
    return f"{name}-lock"


class Lock:
    """The right to write to a collection, from its making until ``release`` or ``remove``, or a block's end.

    :raises WorkError: if another process has it.
    """

    def __init__(self, target: Target) -> None:
        self._target, self._index = target, lock_of(target.index)
        self._owner = uuid.uuid4().hex
        # On an index that is there, its creation is refused with status 400.
        settings = {"number_of_shards": 1, "auto_expand_replicas": "0-1", "hidden": True}
        made: dict[str, Any] = {"index": self._index, "settings": settings, "mappings": {"enabled": False}}
        ask(target, lambda known: known.options(ignore_status=400).indices.create(**made))
        while ask(target, self._create).meta.status == _CONFLICT:
            holder = _holder(target)
            # Ours, where a request that seemed to fail was carried out.
            if holder is not None and self._is_mine(holder):
                return
            if holder is not None:
                self._take(holder)

    def _create(self, known: Elasticsearch) -> ObjectApiResponse[Any]:
        process = {"host": socket.gethostname(), "boot": _boot(), "pid": os.getpid(), "started": _started(os.getpid())}
        document = {"owner": self._owner, **process}
        return known.options(ignore_status=_CONFLICT).create(index=self._index, id=_ID, document=document)

    def _take(self, holder: Mapping[str, Any]) -> None:
        """Remove the lock of a process that is gone; a ``WorkError`` if it may live."""
        found = holder["_source"]
        if not _is_gone(found):
            advice = "" if _is_here(found) else ", or give --take-over if that process is gone"
            raise WorkError(
                f"collection {self._target} is being written by another process (pid {found.get('pid')} on "
                f"{found.get('host')}); try again later{advice}."
            )
        _remove(self._target, holder)

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def check(self) -> None:
        """Raise a ``WorkError`` if the lock was taken over. Asked before a version is put in place."""
        holder = _holder(self._target)
        if holder is None or not self._is_mine(holder):
            raise WorkError(f"collection {self._target} was taken over by another process: nothing was changed.")

    def release(self) -> None:
        """Let others write. Does not wait for a server that is away."""
        quick = client(self._target).options(request_timeout=_SHORT)
        with suppress(ApiError, TransportError):
            found = quick.get(index=self._index, id=_ID).body
            if self._is_mine(found):
                version = {"if_seq_no": found["_seq_no"], "if_primary_term": found["_primary_term"]}
                quick.delete(index=self._index, id=_ID, **version)

    def remove(self) -> None:
        """Release the lock, and remove its index: the collection is no more."""
        self.check()
        ask(self._target, lambda known: known.indices.delete(index=self._index, ignore_unavailable=True))

    def _is_mine(self, holder: Mapping[str, Any]) -> bool:
        return bool(holder["_source"]["owner"] == self._owner)


def take_over(target: Target) -> None:
    """Remove the lock of another machine, whose process is gone. One of this machine's processes keeps its own."""
    holder = _holder(target)
    if holder is not None and not _is_here(holder["_source"]):
        found = holder["_source"]
        logger.warning("%s: the lock of pid %s on %s is taken over", target, found.get("pid"), found.get("host"))
        _remove(target, holder)


def _holder(target: Target) -> Mapping[str, Any] | None:
    name = lock_of(target.index)
    answer: Any = ask(target, lambda known: known.options(ignore_status=404).get(index=name, id=_ID)).body
    return answer if answer.get("found") else None


def _remove(target: Target, holder: Mapping[str, Any]) -> None:
    """Remove a lock, if it is still the one that was seen: another may have removed it, and made its own."""
    version = {"if_seq_no": holder["_seq_no"], "if_primary_term": holder["_primary_term"]}
    quiet = client(target).options(ignore_status=(404, _CONFLICT))
    ask(target, lambda _: quiet.delete(index=lock_of(target.index), id=_ID, **version))


def _boot() -> str:
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
    return bool(holder.get("boot")) and holder["boot"] == _boot()


def _is_gone(holder: Mapping[str, Any]) -> bool:
    return _is_here(holder) and _started(holder["pid"]) != holder["started"]
