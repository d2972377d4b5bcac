"""What a server or the way to it says, in the user's words."""

from __future__ import annotations

import logging
from typing import Any

from elastic_transport import ConnectionError, ConnectionTimeout, SerializationError, TlsError, TransportError
from elasticsearch import ApiError, UnsupportedProductError

from convqa.errors import InputError, StoreUnavailable, WorkError
from convqa.stores.elasticsearch.credentials import CA, VARIABLES, Credentials
from convqa.stores.elasticsearch.target import Target
from convqa.validation import shorten

# Its log of retries and failures says the same as our errors, with a traceback.
logging.getLogger("elastic_transport").setLevel(logging.ERROR)
logging.getLogger("urllib3.connection").addFilter(
    lambda record: "did not match expected hostname" not in str(record.msg)
)

BUSY = frozenset({429, 502, 503, 504})
"""Statuses that pass."""

BLOCKED = "cluster_block_exception"
"""Also of a full disk, which has the status of a busy server and does not pass."""

SEARCH_FAILED = "search_phase_execution_exception"


class IndexMissing(InputError):
    """There is no such index or alias on the server."""


class IndexClosed(StoreUnavailable):
    """An index that is closed, for good or while its settings are changed."""


def passes(error: TransportError | ApiError, waits: bool = False) -> bool:
    """Whether a request may be sent again after a while.

    :param waits: also where nothing listens, or no answer came in time.
    """
    if isinstance(error, UnsupportedProductError | TlsError):
        return False
    if isinstance(error, ApiError):
        return error.meta.status in BUSY and cause(error.body)[0] != BLOCKED
    if isinstance(error, ConnectionError | ConnectionTimeout):
        return waits or _broke(error)
    return isinstance(error, SerializationError)


def translated(error: TransportError | ApiError, target: Target) -> BaseException:
    """The same error as one of ours."""
    if isinstance(error, UnsupportedProductError):
        return InputError(
            f"{target.http} answers, but it is no Elasticsearch (or a proxy hides it). Give the address of an "
            "Elasticsearch 8.19 or later."
        )
    if isinstance(error, ApiError):
        return refused(error.meta.status, error.body, target)
    if isinstance(error, ConnectionTimeout):
        return StoreUnavailable(
            f"Elasticsearch at {target.http} did not answer in time. It may be starting, overloaded or behind a "
            f"firewall: look at {target.http}/_cluster/health and try again."
        )
    if isinstance(error, TlsError):
        return _of_tls(str(error.message), target)
    if isinstance(error, ConnectionError):
        return _of_connection(error, target)
    return StoreUnavailable(f"{target.http} answered something that is no JSON; is there a proxy before Elasticsearch?")


def _of_connection(error: ConnectionError, target: Target) -> BaseException:
    text = str(error.message)
    if "Name or service not known" in text or "resolve" in text or "name resolution" in text or "nodename" in text:
        return StoreUnavailable(
            f"the name {target.host!r} of collection {target} is not known in this network. Correct the URL, or start "
            "the server (in Docker: on the same network)."
        )
    if _broke(error):
        tls = "" if target.https else f" If it speaks HTTPS, write elasticsearch+https://... and set {CA}."
        return StoreUnavailable(
            f"Elasticsearch at {target.http} broke the connection off. It may have been stopped or restarted: look at "
            f"its log and try again.{tls}"
        )
    return StoreUnavailable(
        f"nothing answers at {target.http}. Start Elasticsearch (in a checkout of convqa: docker compose -f "
        f"docker/compose.yaml up --detach --wait), or correct host and port of {target}."
    )


def _broke(error: TransportError) -> bool:
    """Whether there was a connection that ended before its answer."""
    text = str(error.message)
    return any(word in text for word in ("Connection aborted", "RemoteDisconnected", "reset by peer", "IncompleteRead"))


def _of_tls(text: str, target: Target) -> BaseException:
    place = f"{target.host}:{target.port}"
    if "WRONG_VERSION_NUMBER" in text or "wrong version number" in text or "record layer" in text.lower():
        return InputError(
            f"{place} speaks HTTP, and the URL says HTTPS. Write elasticsearch://... instead of elasticsearch+https://..."
        )
    if "mismatch" in text or "doesn't match" in text or "not valid for" in text:
        return InputError(
            f"the certificate of {place} is for another name than {target.host!r}. Use the name that it is for, or "
            "give the server a certificate with this one."
        )
    if "expired" in text or "not yet valid" in text:
        return InputError(f"the certificate of {place} has expired or is not valid yet. Renew it, or set the clock.")
    if "CERTIFICATE_VERIFY_FAILED" in text or "certificate verify failed" in text:
        return InputError(
            f"the certificate of {place} is by an authority that is not known here. Set {CA} to the authority's file "
            "(Elasticsearch makes it as config/certs/http_ca.crt)."
        )
    return StoreUnavailable(f"no TLS connection with {place}: {shorten(text, 200)}")


def refused(status: int, body: Any, target: Target) -> BaseException:
    """The error for an answer that is one: of a request, or of one search among many."""
    kind, reason, index = cause(body)
    name = index or target.index
    if status == 401:
        return InputError(
            f"Elasticsearch at {target.http} refused {Credentials.of(target).told}. Set {VARIABLES}; the user is the "
            "URL's (elasticsearch+https://USER@HOST/INDEX), else elastic."
        )
    if not kind and (status < 400 or status == 403):
        return InputError(
            f"{target.http} answered with status {status}, and not in Elasticsearch's words: is there a proxy before "
            "it? Give the address of Elasticsearch itself."
        )
    if status == 403 and kind != BLOCKED:
        return InputError(
            f"Elasticsearch at {target.http} does not allow this on {name or 'the server'}: the user or API key "
            "lacks a right. Reading needs read, view_index_metadata and monitor; indexing needs all on the index, "
            "its versions (NAME-*) and their aliases."
        )
    if kind == "index_not_found_exception":
        return missing(target, name)
    if kind == "index_closed_exception":
        return IndexClosed(f"index {name!r} at {target.http} is closed. Open it: POST {target.http}/{name}/_open")
    if kind == BLOCKED:
        return blocked(name, reason, target)
    if kind in _NO_SHARD or (status == 503 and "shard" in reason):
        return red(name, target)
    if status in BUSY:
        proxy = "" if kind else " These are not Elasticsearch's words: look also at a proxy before it."
        return StoreUnavailable(
            f"Elasticsearch at {target.http} is too busy or not ready (status {status}: {reason or kind}). "
            f"Try again later, with fewer threads, or give the server more memory.{proxy}"
        )
    if kind in _MAPPING or "mapper [" in reason or "mapping" in reason:
        return InputError(
            f"index {name!r} at {target.http} has fields of other types than these passages need: {reason}. Give a "
            "name that is free, or index the passages anew with --replace."
        )
    if status >= 500:
        return StoreUnavailable(f"Elasticsearch at {target.http} failed (status {status}): {reason or kind}")
    return WorkError(f"Elasticsearch at {target.http} refused a request (status {status}, {kind}): {reason}")


def missing(target: Target, name: str = "") -> IndexMissing:
    """The error for an index or alias that is not there."""
    return IndexMissing(
        f"there is no index {name or target.index!r} at {target.http}. Make it with convqa index SOURCES --collection "
        f"{target}, or see convqa collections list for those that are there."
    )


_NO_SHARD = frozenset({"no_shard_available_action_exception", "unavailable_shards_exception"})
_MAPPING = frozenset({"mapper_parsing_exception", "document_parsing_exception", "strict_dynamic_mapping_exception"})


def blocked(index: str, reason: str, target: Target) -> StoreUnavailable:
    """The error for an index that is not to be written to, or read."""
    full = "flood" in reason or "disk" in reason
    advice = (
        "Make room on the server's disk." if full else f"Lift it in the settings of {target.http}/{index}/_settings."
    )
    return StoreUnavailable(f"index {index!r} at {target.http} is blocked: {reason.partition(';')[0]}. {advice}")


def red(index: str, target: Target) -> StoreUnavailable:
    """The error for an index some of whose shards have no copy that answers."""
    return StoreUnavailable(
        f"index {index!r} at {target.http} is red: a shard has no copy that answers. Bring its node back; "
        f"{target.http}/_cat/shards/{index}?v and {target.http}/_cluster/allocation/explain say which and why."
    )


def cause(body: Any) -> tuple[str, str, str]:
    """Kind, reason and index of an error in an answer; "" for what it does not say."""
    error = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(error, dict):
        return "", shorten(error, 200) if error else "", ""
    roots = error.get("root_cause") or error.get("failed_shards") or []
    shard = roots[0] if roots and isinstance(roots[0], dict) else {}
    root = shard["reason"] if isinstance(shard.get("reason"), dict) else shard
    # A search's own kind only says that all shards failed.
    chosen = root if root.get("type") and error.get("type") == SEARCH_FAILED else error
    kind, reason = str(chosen.get("type") or ""), str(chosen.get("reason") or "")
    return kind, reason[:300], str(chosen.get("index") or root.get("index") or shard.get("index") or "")
