"""One client per server, process and login, and requests that are retried."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar

from elastic_transport import HttpHeaders, TransportError, Urllib3HttpNode
from elasticsearch import ApiError, Elasticsearch
from elasticsearch.serializer import OrjsonSerializer

from convqa.errors import StoreUnavailable
from convqa.stores.elasticsearch.errors import is_transient, translated
from convqa.stores.elasticsearch.target import Credentials, IndexTarget

TIMEOUT = 60.0
"""Seconds for an answer."""

CONNECTIONS = 16
"""Connections of a client: more threads than this wait for each other."""

PATIENCE = 4.0
"""Seconds for which a failed request is repeated. Loads have more (bulk.py)."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 10.0

T = TypeVar("T")


def client(target: IndexTarget) -> Elasticsearch:
    """Return the client of a server, which is safe for threads. Nothing is requested yet.

    :raises InputError: if the environment's credentials are unusable.
    """
    # A connection shared with a fork would mix the answers of two processes.
    return _connected(replace(target, index=""), Credentials.of(target), os.getpid())


def ask(target: IndexTarget, call: Callable[[Elasticsearch], T], patience: float = PATIENCE) -> T:
    """Return the result of a call of a server's client, retrying transient errors after growing pauses.

    (The client's own retries do not pause.)

    :param patience: seconds after which no further attempt begins. With more than ``PATIENCE``, a server that does not
        listen or answer is waited for, too.
    :raises InputError: for login, rights, TLS or a missing index.
    :raises StoreUnavailable: for transient errors: no connection, no answer in time, overload, missing shards.
    :raises WorkError: for any other refusal.
    """
    deadline = time.monotonic() + patience
    pause = _FIRST_PAUSE
    while True:
        try:
            return call(client(target))
        except (StoreUnavailable, TransportError, ApiError) as error:
            is_late = time.monotonic() + pause > deadline
            if is_late or not is_transient(error, waits=patience > PATIENCE):
                raise translated(error, target) from None
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


@lru_cache
def _connected(server: IndexTarget, credentials: Credentials, process: int) -> Elasticsearch:  # noqa: ARG001
    return Elasticsearch(
        server.http,
        node_class=_QuietNode,
        serializer=OrjsonSerializer(),
        request_timeout=TIMEOUT,
        connections_per_node=CONNECTIONS,
        max_retries=0,
        **credentials.options,  # type: ignore[arg-type]
    )


class _QuietNode(Urllib3HttpNode):
    """A connection that drops the server's warnings, which are for its operators, and become Python's here."""

    def perform_request(self, *args: Any, **kwargs: Any) -> Any:
        answer = super().perform_request(*args, **kwargs)
        headers = HttpHeaders(answer.meta.headers)
        headers.pop("warning", None)
        return answer._replace(meta=replace(answer.meta, headers=headers))
