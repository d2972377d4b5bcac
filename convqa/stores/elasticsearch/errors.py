"""Errors of a server and of connections to it, as convqa's errors: the server's reason, and what to do."""

from __future__ import annotations

import logging
from typing import Any

from elastic_transport import ConnectionError, ConnectionTimeout, SerializationError, TlsError, TransportError
from elasticsearch import ApiError, UnsupportedProductError

from convqa.errors import InputError, StoreUnavailable, WorkError
from convqa.stores.elasticsearch.target import CA, VARIABLES, IndexTarget

# These logs repeat our errors, with tracebacks.
logging.getLogger("elastic_transport").setLevel(logging.ERROR)
# It decodes every body where it has a handler.
logging.getLogger("elastic_transport.node").propagate = False
logging.getLogger("urllib3.connection").addFilter(
    lambda record: "did not match expected hostname" not in str(record.msg)
)

BUSY = frozenset({429, 502, 503, 504})

BLOCKED = "cluster_block_exception"
"""A full disk has it too, with the status of a busy server; it is not transient."""

_SEARCH_FAILED = "search_phase_execution_exception"

_NO_SHARD = frozenset({"unavailable_shards_exception", "no_shard_available_action_exception"})
_GONE = frozenset({"index_not_found_exception", "aliases_not_found_exception", "search_context_missing_exception"})
_BROKE = ("Connection aborted", "RemoteDisconnected", "reset by peer", "IncompleteRead")

_STATUS_ADVICE = {
    401: f"Set {VARIABLES}; the user is the URL's (elasticsearch+https://USER@HOST/INDEX), else elastic.",
    403: "The user or API key lacks a right. Reading needs read, view_index_metadata and monitor; indexing needs all "
    "on the index, its versions (NAME-*), their aliases and convqa-locks.",
    413: "The server, or a proxy before it, takes smaller requests only: raise http.max_content_length.",
}
_KIND_ADVICE = {
    "mapper_parsing_exception": "Choose other settings, or another precision or encoder of vectors.",
}


class IndexMissing(InputError):
    """The server lacks an index or alias."""


def is_transient(error: BaseException, waits: bool) -> bool:
    """Return whether a request may be retried; ``waits``: also where nothing listens, or no answer came in time."""
    if isinstance(error, UnsupportedProductError | TlsError):
        return False
    if isinstance(error, ApiError):
        return error.meta.status in BUSY and cause(error.body)[0] != BLOCKED
    if isinstance(error, ConnectionError | ConnectionTimeout):
        return waits or any(words in str(error.message) for words in _BROKE)
    return isinstance(error, SerializationError | StoreUnavailable)


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
            f"Elasticsearch at {target.http} did not answer in time. It may be starting, overloaded or behind a "
            f"firewall: look at {target.http}/_cluster/health and try again."
        )
    if not isinstance(error, TransportError):
        return error
    reason = str(error.message)
    if isinstance(error, TlsError):
        advice = f"Set {CA} to the file of its certificate authority, and use the name that its certificate is for."
        if "WRONG_VERSION_NUMBER" in reason:
            advice = "The server speaks HTTP: write elasticsearch://... instead of elasticsearch+https://..."
        return InputError(f"no TLS with {target.http}: {reason}. {advice}")
    tls = "" if target.https else f" If it speaks HTTPS, write elasticsearch+https://... and set {CA}."
    return StoreUnavailable(
        f"nothing answers at {target.http}: {reason.rpartition(': ')[2]}. Start Elasticsearch (in a checkout of "
        "convqa: docker compose -f docker/compose.yaml up --detach --wait elasticsearch), or correct host and "
        f"port of {target}.{tls}"
    )


def refused(status: int, body: Any, target: IndexTarget) -> BaseException:
    """Return the error for a failed request, or a failed search among many."""
    kind, reason, index = cause(body)
    name = index or target.index
    if kind in _GONE:
        return missing(target, name)
    if kind == BLOCKED:
        return blocked(name, reason, target)
    if kind in _NO_SHARD or (status == 503 and "shard" in reason):
        return StoreUnavailable(
            f"index {name!r} at {target.http} is red: a shard has no copy that answers. Bring its node back; "
            f"{target.http}/_cat/shards/{name}?v and {target.http}/_cluster/allocation/explain say which and why."
        )
    words = reason or kind or "not in the form of Elasticsearch's errors"
    if status == 401:
        # The server's reason might show the login.
        words = "the login is missing or wrong"
    message = f"Elasticsearch at {target.http} refused a request to {name or 'the server'} (status {status}: {words})."
    if kind == "index_closed_exception":
        return StoreUnavailable(f"{message} It is closed. Open it: POST {target.http}/{name}/_open")
    if status == 429 or status >= 500:
        return StoreUnavailable(f"{message} Try again later, with fewer threads, or give the server more memory.")
    if not kind and status not in {401, 413}:
        return InputError(f"{message} Is it OpenSearch, or a proxy? Give the address of Elasticsearch itself.")
    advice = _KIND_ADVICE.get(kind) or _STATUS_ADVICE.get(status)
    return InputError(f"{message} {advice}") if advice else WorkError(message)


def missing(target: IndexTarget, name: str = "") -> IndexMissing:
    return IndexMissing(
        f"there is no index {name or target.index!r} at {target.http}. Make it with convqa index SOURCES --collection "
        f"{target}, or see convqa collections list for existing ones."
    )


def blocked(index: str, reason: str, target: IndexTarget) -> StoreUnavailable:
    return StoreUnavailable(
        f"index {index!r} at {target.http} is blocked: {reason.partition(';')[0]}. Make room on the server's disk if "
        f"that is full, or lift the block in {target.http}/{index}/_settings."
    )


def cause(body: Any) -> tuple[str, str, str]:
    """Return the type, reason and index of an error in an answer; "" for those that it lacks."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return "", "", ""
    causes = error.get("root_cause") or error.get("failed_shards") or [{}]
    index = error.get("index") or causes[0].get("index") or ""
    if error.get("type") == _SEARCH_FAILED:
        # Its own reason is only that all shards failed.
        shard_reason = causes[0].get("reason")
        error = error.get("caused_by") or causes[0] or error
        if isinstance(shard_reason, dict):
            error = shard_reason
    return str(error.get("type") or ""), str(error.get("reason") or "")[:300], str(index)
