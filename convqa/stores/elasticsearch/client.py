"""One client per server, process and login, and requests that are retried."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar

from elastic_transport import HttpHeaders, TransportError, Urllib3HttpNode
from elasticsearch import ApiError, Elasticsearch
from elasticsearch.serializer import OrjsonSerializer

from convqa.errors import StoreUnavailable
from convqa.stores.elasticsearch.errors import passes, translated
from convqa.stores.elasticsearch.target import Credentials, Target

TIMEOUT = 60.0

THREADS = 16
"""Connections of a client: more threads than this wait for each other."""

PATIENCE = 4.0
"""Seconds for which a request is repeated; bulk requests have more (bulk.py)."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 10.0

T = TypeVar("T")


def client(target: Target) -> Elasticsearch:
    """Return the client of a server, which is safe for threads. Nothing is requested yet.

    :raises InputError: if the environment's credentials are unusable.
    """
    # A connection shared with a fork would mix the answers of two processes.
    return _connected(replace(target, index=""), Credentials.of(target), os.getpid())


class Again(Exception):
    """Raised by a call that failed in part and may be retried. ``error`` is raised when patience ends."""

    def __init__(self, error: StoreUnavailable) -> None:
        super().__init__(str(error))
        self.error = error


def ask(
    target: Target,
    call: Callable[[Elasticsearch], T],
    patience: float = PATIENCE,
    waits: bool = False,
    sleep: Callable[[float], object] | None = None,
) -> T:
    """Return the result of a call of a server's client, retrying transient errors after growing pauses.

    (The client's own retries do not pause, and its bulk helpers retry neither a broken connection nor status 413.)

    :param patience: seconds after which no further attempt begins.
    :param waits: also retry where nothing listens, or no answer comes in time.
    :raises InputError: for login, rights, TLS or a missing index.
    :raises StoreUnavailable: for transient errors: no connection, no answer in time, overload, missing shards.
    :raises WorkError: for any other refusal.
    """
    start, waited, pause = time.monotonic(), 0.0, _FIRST_PAUSE
    while True:
        is_last = max(waited, time.monotonic() - start) + pause > patience
        try:
            return call(client(target))
        except Again as again:
            if is_last:
                raise again.error from None
        except (TransportError, ApiError) as error:
            if is_last or not passes(error, waits):
                raise translated(error, target) from None
        (sleep or time.sleep)(pause * random.uniform(0.75, 1.25))
        waited, pause = waited + pause, min(2 * pause, _LONGEST_PAUSE)


@lru_cache
def _connected(server: Target, credentials: Credentials, process: int) -> Elasticsearch:  # noqa: ARG001
    return Elasticsearch(
        server.http,
        node_class=_Node,
        serializer=OrjsonSerializer(),
        request_timeout=TIMEOUT,
        connections_per_node=THREADS,
        max_retries=0,
        **credentials.options,  # type: ignore[arg-type]
    )


class _Node(Urllib3HttpNode):
    """A connection that drops the server's warnings, which are for its operators, and become Python's here."""

    def perform_request(self, *args: Any, **kwargs: Any) -> Any:
        answer = super().perform_request(*args, **kwargs)
        kept = {name: value for name, value in answer.meta.headers.items() if name.lower() != "warning"}
        return answer._replace(meta=replace(answer.meta, headers=HttpHeaders(kept)))
