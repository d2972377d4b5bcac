"""The write lock of a collection: a document in the hidden index ``convqa-locks`` that names the process.

The lock of a dead process of this machine is removed silently; that of another machine stays until its process
releases it, or the user deletes it.
"""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from elastic_transport import ObjectApiResponse, TransportError
from elasticsearch import ApiError, Elasticsearch

from convqa.errors import WorkError
from convqa.stores.elasticsearch.client import ask, client
from convqa.stores.elasticsearch.target import Target

_SHORT = 5.0
"""Timeout of a release; a lock that stays is removed after the process has ended."""
_CONFLICT = 409


LOCKS = "convqa-locks"
"""The index of all locks of a server, by collection."""


class Lock(AbstractContextManager["Lock"]):
    """The right to write to a collection, until ``release`` or the end of a ``with`` block.

    :raises WorkError: if another process has it.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._owner = uuid.uuid4().hex
        # Creating an existing index fails with status 400.
        settings = {"number_of_shards": 1, "auto_expand_replicas": "0-1", "hidden": True}
        index: dict[str, Any] = {"index": LOCKS, "settings": settings, "mappings": {"enabled": False}}
        ask(target, lambda es: es.options(ignore_status=400).indices.create(**index))
        while ask(target, self._create).meta.status == _CONFLICT:
            holder = self._holder()
            # A request that seemed to fail may have created ours.
            if holder is not None and self._is_mine(holder):
                return
            if holder is not None:
                self._take(holder)

    def _create(self, es: Elasticsearch) -> ObjectApiResponse[Any]:
        process = {"host": socket.gethostname(), "boot": _boot(), "pid": os.getpid(), "started": _started(os.getpid())}
        document = {"owner": self._owner, **process}
        return es.options(ignore_status=_CONFLICT).create(index=LOCKS, id=self._target.index, document=document)

    def _take(self, holder: Mapping[str, Any]) -> None:
        """Remove the lock of a dead process; raise a ``WorkError`` if it may be alive."""
        process = holder["_source"]
        if not (_is_here(process) and _started(process["pid"]) != process["started"]):
            place = f"{self._target.http}/{LOCKS}/_doc/{quote(self._target.index, safe='')}"
            advice = "" if _is_here(process) else f". If it is gone, delete its lock: curl -X DELETE {place}"
            raise WorkError(
                f"collection {self._target} is being written by another process (pid {process.get('pid')} on "
                f"{process.get('host')}); try again later{advice}"
            )
        quiet = client(self._target).options(ignore_status=(404, _CONFLICT))
        ask(self._target, lambda _: quiet.delete(index=LOCKS, id=self._target.index, **_version(holder)))

    def __exit__(self, *_: object) -> None:
        self.release()

    def check(self) -> None:
        """Raise a ``WorkError`` if the lock was taken over. Called before a version is put in place."""
        holder = self._holder()
        if holder is None or not self._is_mine(holder):
            raise WorkError(f"collection {self._target} was taken over by another process: nothing was changed.")

    def release(self) -> None:
        """Let others write, without waiting for a server that does not answer."""
        quick = client(self._target).options(request_timeout=_SHORT)
        with suppress(ApiError, TransportError):
            holder = quick.get(index=LOCKS, id=self._target.index).body
            if self._is_mine(holder):
                quick.delete(index=LOCKS, id=self._target.index, **_version(holder))

    def _holder(self) -> Mapping[str, Any] | None:
        name = self._target.index
        answer: Any = ask(self._target, lambda es: es.options(ignore_status=404).get(index=LOCKS, id=name)).body
        return answer if answer.get("found") else None

    def _is_mine(self, holder: Mapping[str, Any]) -> bool:
        return bool(holder["_source"]["owner"] == self._owner)


def _version(holder: Mapping[str, Any]) -> dict[str, Any]:
    return {"if_seq_no": holder["_seq_no"], "if_primary_term": holder["_primary_term"]}


def _boot() -> str:
    """Return a name of this boot and PID namespace; "" if unknown."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _started(pid: int) -> str:
    """Return the start time of a process of this machine in kernel ticks; "" if it is dead or a zombie."""
    try:
        values = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if values[0] in "ZX" else values[19]


def _is_here(process: Mapping[str, Any]) -> bool:
    """Return whether a process is of this machine, so that it can be seen whether it lives."""
    return bool(process.get("boot")) and process["boot"] == _boot()
