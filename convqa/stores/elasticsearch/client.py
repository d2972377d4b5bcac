"""One client per server, process and login; requests that are retried; and errors, as convqa's."""

from __future__ import annotations

import logging
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar

from elastic_transport import ConnectionTimeout, SerializationError, TlsError, TransportError
from elasticsearch import ApiError, Elasticsearch, ElasticsearchWarning, UnsupportedProductError
from elasticsearch.serializer import OrjsonSerializer

from convqa.errors import InputError, RunError, StoreUnavailable
from convqa.stores.elasticsearch.target import CA, VARIABLES, IndexTarget, credentials

# The server's warnings are for its operators.
warnings.filterwarnings("ignore", category=ElasticsearchWarning)

# These logs repeat our errors, with tracebacks.
logging.getLogger("elastic_transport").setLevel(logging.ERROR)
# It decodes every body where it has a handler.
logging.getLogger("elastic_transport.node").propagate = False
logging.getLogger("urllib3.connection").addFilter(
    lambda record: "did not match expected hostname" not in str(record.msg)
)

TIMEOUT = 60.0
"""Seconds for an answer."""

CONNECTIONS = 16
"""Connections of a client: more threads than this wait for each other."""

PATIENCE = 4.0
"""Seconds for which a failed request is repeated. Loads have more (index.py)."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 10.0

T = TypeVar("T")

BUSY = frozenset({429, 502, 503, 504})

BLOCKED = "cluster_block_exception"
"""A full disk has it too, with the status of a busy server; it is not transient."""

_NO_SHARD = "no_shard_available_action_exception"
_UNAVAILABLE = frozenset({BLOCKED, _NO_SHARD, "index_closed_exception", "unavailable_shards_exception"})
"""Types of errors that pass when the index is available again."""
_GONE = frozenset({"index_not_found_exception", "aliases_not_found_exception", "search_context_missing_exception"})

_ADVICE = {
    401: f"Set {VARIABLES}; the user is the URL's (elasticsearch+https://USER@HOST/INDEX), else elastic.",
    403: "Reading needs the rights read, view_index_metadata and monitor; indexing needs all on the index, its "
    "versions (NAME-*), their aliases and convqa-locks.",
}


def client(target: IndexTarget) -> Elasticsearch:
    """Return the client of a server, which is safe for threads. Nothing is requested yet.

    :raises InputError: if the environment's credentials are unusable.
    """
    # A connection shared with a fork would mix the answers of two processes.
    return _connected(replace(target, index=""), tuple(credentials(target).items()), os.getpid())


def ask(
    target: IndexTarget,
    call: Callable[[Elasticsearch], T],
    patience: float = PATIENCE,
) -> T:
    """Return the result of a call of a server's client, retrying transient errors after growing pauses.

    (The client's own retries do not pause.)

    :param patience: seconds after which no further attempt begins.
    :raises StoreUnavailable: for transient errors: no connection, no answer in time, overload, missing shards.
    :raises RunError: if an index is gone.
    :raises InputError: for any other refusal: login, rights, TLS, settings.
    """
    deadline = time.monotonic() + patience
    pause = _FIRST_PAUSE
    while True:
        try:
            return call(client(target))
        except (StoreUnavailable, TransportError, ApiError) as error:
            is_late = time.monotonic() + pause > deadline
            if is_late or not is_transient(error):
                raise translated(error, target) from None
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


@lru_cache
def _connected(server: IndexTarget, login: tuple[tuple[str, Any], ...], process: int) -> Elasticsearch:  # noqa: ARG001
    return Elasticsearch(
        server.http,
        serializer=OrjsonSerializer(),
        request_timeout=TIMEOUT,
        connections_per_node=CONNECTIONS,
        max_retries=0,
        **dict(login),
    )


def is_transient(error: BaseException) -> bool:
    """Return whether a request may succeed when it is repeated."""
    if isinstance(error, ApiError):
        return error.meta.status in BUSY and cause(error.body)[0] != BLOCKED
    return not isinstance(error, TlsError)


def translated(error: BaseException, target: IndexTarget) -> BaseException:
    """Return convqa's error for one of the client's."""
    if isinstance(error, UnsupportedProductError | SerializationError):
        return InputError(
            f"{target.http} answers, but not as Elasticsearch does: is it OpenSearch, or a proxy? Give the address of "
            "an Elasticsearch 8.19 or later, or index the passages into a folder."
        )
    if isinstance(error, ApiError):
        return refused(error.meta.status, error.body, target)
    if isinstance(error, ConnectionTimeout):
        return StoreUnavailable(
            f"Elasticsearch at {target.http} did not answer in time. Look at {target.http}/_cluster/health, and try "
            "again."
        )
    if not isinstance(error, TransportError):
        return error
    reason = str(error.message)
    if isinstance(error, TlsError):
        return InputError(
            f"no TLS with {target.http}: {reason}. Set {CA} to the file of its certificate authority, and use the name "
            "that its certificate is for. For a server that speaks HTTP, write elasticsearch://..."
        )
    tls = "" if target.https else " If it speaks HTTPS, write elasticsearch+https://..."
    return StoreUnavailable(
        f"nothing answers at {target.http}: {reason.rpartition(': ')[2]}. Start Elasticsearch, or correct host and "
        f"port of {target}.{tls}"
    )


def refused(status: int, body: Any, target: IndexTarget) -> BaseException:
    """Return the error for a failed request, or for a failed item of one."""
    kind, reason, index = cause(body)
    if kind in _GONE:
        return RunError(
            f"collection {target} was changed, indexed anew or deleted since it was opened: its index {index} is gone. "
            "Start again: one run must not mix two collections."
        )
    # The server's reason might show the login.
    words = "the login is missing or wrong" if status == 401 else reason or kind or "not in Elasticsearch's form"
    name = index or target.index or "the server"
    message = f"Elasticsearch at {target.http} refused a request to {name} (status {status}: {words})."
    if kind in _UNAVAILABLE or status == 429 or status >= 500:
        return StoreUnavailable(f"{message} See {target.http}/_cat/shards and the server's disk and memory; try again.")
    return InputError(f"{message} {_ADVICE.get(status, '')}".rstrip())


def cause(body: Any) -> tuple[str, str, str]:
    """Return the type, reason and index of an error in an answer; "" for those that it lacks."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return "", "", ""
    # The reason of a failed search is only that all shards failed.
    root = (error.get("root_cause") or [error.get("caused_by") or error])[0]
    index = root.get("index") or error.get("index") or ""
    return str(root.get("type") or ""), str(root.get("reason") or "")[:300], str(index)
