"""The write lock of a collection: a document in the hidden index ``convqa-locks`` that names the process.

The lock of a process that was killed stays. The next writer names it and the request that deletes it.
"""

from __future__ import annotations

import os
import socket
import uuid
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from elasticsearch import Elasticsearch

from convqa.errors import ConvqaError, RunError, WorkError
from convqa.stores.elasticsearch.client import ask
from convqa.stores.elasticsearch.target import IndexTarget

LOCKS = "convqa-locks"
"""The index of all locks of a server, by collection."""

_EXISTS, _CONFLICT, _MISSING = 400, 409, 404


class CollectionLock:
    """The right to write to a collection, until ``release`` or the end of a ``with`` block.

    :raises WorkError: if another process has it.
    """

    def __init__(self, target: IndexTarget) -> None:
        self._target = target
        self._owner = uuid.uuid4().hex
        ask(target, self._create)
        process = self._process()
        # A request that seemed to fail may have created ours, so the owner counts, and not the status.
        if process.get("owner") != self._owner:
            url = f"{target.http}/{LOCKS}/_doc/{quote(target.index, safe='')}"
            raise WorkError(
                f"collection {target} is being written by another process (pid {process.get('pid')} on "
                f"{process.get('host')}); try again later. If that process was killed, delete its lock: curl -X DELETE "
                f"{url}"
            )

    def __enter__(self) -> CollectionLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def check(self) -> None:
        """Raise a ``WorkError`` if the lock was deleted. Called before a version is put in place."""
        if self._process().get("owner") != self._owner:
            raise WorkError(f"collection {self._target}: its lock was deleted, so nothing was changed.")

    def release(self) -> None:
        """Let others write. A lock that cannot be deleted stays."""
        with suppress(ConvqaError, RunError):
            if self._process().get("owner") == self._owner:
                ask(self._target, lambda es: es.delete(index=LOCKS, id=self._target.index))

    def _create(self, es: Elasticsearch) -> None:
        es.options(ignore_status=_EXISTS).indices.create(
            index=LOCKS,
            settings={"number_of_shards": 1, "auto_expand_replicas": "0-1", "hidden": True},
            mappings={"enabled": False},
        )
        process = {"owner": self._owner, "host": socket.gethostname(), "pid": os.getpid()}
        es.options(ignore_status=_CONFLICT).create(index=LOCKS, id=self._target.index, document=process)

    def _process(self) -> dict[str, Any]:
        """Return the process that holds the lock."""
        answer = ask(
            self._target,
            lambda es: es.options(ignore_status=_MISSING).get(index=LOCKS, id=self._target.index),
        )
        return dict(answer.get("_source", {}))
