"""One client for each server, process and login, and the one way to ask it again."""

from __future__ import annotations

import os
import random
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, TypeVar

import elasticsearch
from elastic_transport import ApiResponseMeta, HttpHeaders, TransportError, Urllib3HttpNode
from elasticsearch import ApiError, Elasticsearch
from elasticsearch.serializer import OrjsonSerializer

from convqa.errors import InputError, StoreUnavailable
from convqa.stores.elasticsearch.credentials import CA, Credentials
from convqa.stores.elasticsearch.errors import passes, translated
from convqa.stores.elasticsearch.target import Target

TIMEOUT = 60.0
"""Seconds that one request may take."""

THREADS = 16
"""Connections of a client: more threads than this wait for each other."""

PATIENCE = 4.0
"""Seconds for which a request is repeated; those that write have more (bulk.py)."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 10.0
_WANTED = "elasticsearch>=8.19,<9"

T = TypeVar("T")

_clients: dict[tuple[int, Target, Credentials], Elasticsearch] = {}
_lock = threading.Lock()


def _forked() -> None:
    """In a child process: another thread of the parent may have held the lock."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def client(target: Target) -> Elasticsearch:
    """The client of a server, safe for threads: one for each process and login. Nothing is asked yet.

    :raises InputError: if the environment's credentials cannot be used.
    """
    credentials = Credentials.of(target)
    # A connection that a fork shared would mix the answers of two processes.
    key = os.getpid(), replace(target, index=""), credentials
    with _lock:
        found = _clients.get(key)
        if found is None:
            found = _clients[key] = _connected(target, credentials)
    return found


class Again(Exception):
    """Raised within an attempt: a part of it failed in a way that may pass. ``error`` is raised when patience ends."""

    def __init__(self, error: StoreUnavailable) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(slots=True)
class Attempt:
    """A block that talks to a server. Errors of the client become ours; those that may pass are kept silent, unless
    this attempt is the last."""

    target: Target
    is_last: bool
    waits: bool

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, Again):
            if self.is_last:
                raise error.error from None
            return True
        if isinstance(error, TransportError | ApiError):
            if self.is_last or not passes(error, self.waits):
                raise translated(error, self.target) from None
            return True
        return False


def attempts(
    target: Target, patience: float = PATIENCE, waits: bool = False, sleep: Callable[[float], Any] | None = None
) -> Iterator[Attempt]:
    """Attempts at a request, with growing pauses between them: the caller leaves the loop when one succeeds.

    (The client's own retries know no pauses, and the helpers for bulk requests neither a broken connection nor
    status 413.)

    :param patience: seconds after which no further attempt begins.
    :param waits: also for a server that does not listen, or does not answer in time.
    """
    start, waited, pause = time.monotonic(), 0.0, _FIRST_PAUSE
    while True:
        is_last = max(waited, time.monotonic() - start) + pause > patience
        yield Attempt(target, is_last, waits)
        (sleep or time.sleep)(pause * random.uniform(0.75, 1.25))
        waited, pause = waited + pause, min(2 * pause, _LONGEST_PAUSE)


def ask(target: Target, call: Callable[[Elasticsearch], T], patience: float = PATIENCE, waits: bool = False) -> T:
    """What a call of a server's client gives: again, after a while, when the server is busy or a connection breaks.

    :raises InputError: for what the user can put right: login, rights, TLS, a missing index, a mapping.
    :raises StoreUnavailable: for what may pass: no connection, no answer in time, too busy, missing shards.
    :raises WorkError: for anything else that the server refuses.
    """
    for attempt in attempts(target, patience, waits):
        with attempt:
            return call(client(target))
    raise AssertionError


def _connected(target: Target, credentials: Credentials) -> Elasticsearch:
    if credentials.ca:
        _check_authority(credentials.ca)
    return Elasticsearch(
        target.http,
        node_class=_Node,
        serializer=OrjsonSerializer(),
        request_timeout=TIMEOUT,
        connections_per_node=THREADS,
        http_compress=False,
        max_retries=0,
        retry_on_timeout=False,
        retry_on_status=(),
        **credentials.options,  # type: ignore[arg-type]
    )


def _check_authority(path: str) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except (ssl.SSLError, OSError) as error:
        raise InputError(
            f"{CA}: {path} cannot be used ({type(error).__name__}). Wanted: the authority's certificate (PEM)."
        ) from None


class _Node(Urllib3HttpNode):
    """A connection that keeps still: what the server warns of is for those who run it, and bodies are not logged.

    (elastic-transport decodes every body for its log wherever any logger has a handler, and the client turns the
    server's remarks into Python warnings.)
    """

    def perform_request(self, *args: Any, **kwargs: Any) -> Any:
        answer = super().perform_request(*args, **kwargs)
        return answer._replace(meta=_without_remarks(answer.meta))

    def _log_request(self, *args: Any, **kwargs: Any) -> None:
        """Nothing."""


def _without_remarks(meta: ApiResponseMeta) -> ApiResponseMeta:
    if "warning" not in meta.headers:
        return meta
    kept = {name: value for name, value in meta.headers.items() if name.lower() != "warning"}
    return replace(meta, headers=HttpHeaders(kept))


def refuse_version(version: tuple[Any, ...]) -> None:
    """Raise unless this version of the client can be used: 8.x servers refuse one of 9.x.

    :raises InputError: with the command that installs the right one.
    """
    if not (8, 19) <= tuple(version[:2]) < (9,):
        raise InputError(
            f"the Python package elasticsearch is {'.'.join(map(str, version))}; wanted: {_WANTED} (servers of 8.x "
            f'refuse a client of 9.x, and servers of 9.x take one of 8.19). Run: pip install "{_WANTED}"'
        )


refuse_version(elasticsearch.__version__)
