"""One client for each server, process and login, and the one way to ask it again."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar

from elastic_transport import HttpHeaders, TransportError, Urllib3HttpNode
from elasticsearch import ApiError, Elasticsearch, UnsupportedProductError
from elasticsearch.serializer import OrjsonSerializer

from convqa.errors import InputError, StoreUnavailable
from convqa.stores.elasticsearch.errors import passes, translated
from convqa.stores.elasticsearch.target import Credentials, Target

TIMEOUT = 60.0
"""Seconds that one request may take."""

THREADS = 16
"""Connections of a client: more threads than this wait for each other."""

PATIENCE = 4.0
"""Seconds for which a request is repeated; those that write have more (bulk.py)."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 10.0

_NOT_ACCEPTABLE = 406
_PLAIN = {"accept": "application/json"}

T = TypeVar("T")


def client(target: Target) -> Elasticsearch:
    """The client of a server, safe for threads: one for each process and login. Nothing is asked yet.

    :raises InputError: if the environment's credentials cannot be used.
    """
    # A connection that a fork shared would mix the answers of two processes.
    return _connected(replace(target, index=""), Credentials.of(target), os.getpid())


class Again(Exception):
    """Raised within a call: a part of it failed in a way that may pass. ``error`` is raised when patience ends."""

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
    """Return what a call of a server's client gives; call again, after growing pauses, while an error may pass.

    (The client's own retries know no pauses, and the helpers for bulk requests neither a broken connection nor
    status 413.)

    :param patience: seconds after which no further attempt begins.
    :param waits: also for a server that does not listen, or does not answer in time.
    :raises InputError: for what the user can put right: login, rights, TLS, a missing index.
    :raises StoreUnavailable: for what may pass: no connection, no answer in time, too busy, missing shards.
    :raises WorkError: for anything else that the server refuses.
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
                _refuse_others(target, error)
                raise translated(error, target) from None
        (sleep or time.sleep)(pause * random.uniform(0.75, 1.25))
        waited, pause = waited + pause, min(2 * pause, _LONGEST_PAUSE)


def _refuse_others(target: Target, error: TransportError | ApiError) -> None:
    """:raises InputError: where a server that was asked in vain says that it is OpenSearch."""
    if not isinstance(error, UnsupportedProductError) and getattr(error, "status_code", 0) != _NOT_ACCEPTABLE:
        return
    with suppress(TransportError, TypeError, KeyError):
        told: Any = client(target).transport.perform_request("GET", "/", headers=_PLAIN).body
        if told["version"].get("distribution") == "opensearch":
            raise InputError(
                f"{target.http} is OpenSearch {told['version']['number']}, which convqa does not support. Give the "
                "address of an Elasticsearch 8.19 or later, or index the passages into a folder."
            )


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
    """A connection that logs nothing: what the server warns of is for those who run it, and bodies are not logged.

    (elastic-transport decodes every body for its log wherever any logger has a handler, and the client turns the
    server's remarks into Python warnings.)
    """

    def perform_request(self, *args: Any, **kwargs: Any) -> Any:
        answer = super().perform_request(*args, **kwargs)
        kept = {name: value for name, value in answer.meta.headers.items() if name.lower() != "warning"}
        return answer._replace(meta=replace(answer.meta, headers=HttpHeaders(kept)))

    def _log_request(self, *args: Any, **kwargs: Any) -> None:
        """Nothing."""
