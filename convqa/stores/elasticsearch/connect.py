"""One client for each server, process and login."""

from __future__ import annotations

import os
import ssl
import threading
from dataclasses import replace
from typing import Any

import elasticsearch
from elastic_transport import ApiResponseMeta, HttpHeaders, Urllib3HttpNode
from elasticsearch import Elasticsearch
from elasticsearch.serializer import OrjsonSerializer

from convqa.errors import InputError
from convqa.stores.elasticsearch.credentials import CA, Credentials
from convqa.stores.elasticsearch.errors import asking, talking
from convqa.stores.elasticsearch.target import Target

__all__ = ["THREADS", "TIMEOUT", "Target", "asking", "client", "talking"]

TIMEOUT = 60.0
"""Seconds that one request may take."""

THREADS = 16
"""Connections of a client: more threads than this wait for each other."""

_WANTED = "elasticsearch>=8.19,<9"

_clients: dict[tuple[int, Target, Credentials], Elasticsearch] = {}
_lock = threading.Lock()


def _forked() -> None:
    """In a child process: another thread of the parent may have held the lock."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def client(target: Target) -> Elasticsearch:
    """The client of a server, safe for threads: one for each process and login.

    Nothing is asked yet. It repeats a request once when its connection breaks; whatever else may be repeated,
    :func:`asking` repeats.

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
        max_retries=1,
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
