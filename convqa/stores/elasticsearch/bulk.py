"""Send documents in bulk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

from elasticsearch import Elasticsearch
from elasticsearch.helpers import streaming_bulk

from convqa.errors import InputError, StoreUnavailable, WorkError
from convqa.stores.elasticsearch.client import ask
from convqa.stores.elasticsearch.errors import BLOCKED, BUSY, blocked
from convqa.stores.elasticsearch.target import IndexTarget

PATIENCE = 120.0
"""Seconds for which requests to a silent server are repeated."""

MAX_RETRIES = 14
"""Rejected documents are sent again this often, after pauses of 1, 2, 4, 8, 10, 10 ... seconds: two minutes in all."""

MAX_REQUEST_BYTES = 20_000_000
"""A larger document is sent alone."""

_LONGEST_PAUSE = 10.0
_TIMEOUT = 120.0
_CONFLICT, _MISSING = 409, 404
_KEPT = "items.*._id,items.*.status,items.*.error.type,items.*.error.reason"

T = TypeVar("T")


class Document(NamedTuple):
    """A document to send: its ``_id``, the passage's id for messages, and its content (none for a deletion)."""

    key: str
    passage_id: str
    source: Mapping[str, Any] | None = None


def send(
    target: IndexTarget, index: str, action: Literal["create", "index", "delete"], documents: Sequence[Document]
) -> list[str]:
    """Send documents until each is answered. Return the keys that exist (to create) or are missing (to delete).

    :raises InputError: for a document that the server cannot index.
    :raises WorkError: for a document that it refuses for another reason.
    :raises StoreUnavailable: if it stays busy or away.
    """
    if not documents:
        return []

    def attempt(es: Elasticsearch) -> list[Mapping[str, Any]]:
        actions = [{"_op_type": action, "_id": each.key, "_source": each.source or {}} for each in documents]
        failures = streaming_bulk(
            es.options(request_timeout=_TIMEOUT),
            actions,
            chunk_size=len(actions),
            max_chunk_bytes=MAX_REQUEST_BYTES,
            raise_on_error=False,
            yield_ok=False,
            max_retries=MAX_RETRIES,
            initial_backoff=1,
            max_backoff=_LONGEST_PAUSE,
            retry_on_status=tuple(BUSY),
            index=index,
            filter_path=_KEPT,
        )
        return [failure[action] for _, failure in failures]

    refused_keys = []
    for failure in ask(target, attempt, PATIENCE):
        status = failure["status"]
        if status == _CONFLICT or (action == "delete" and status == _MISSING):
            refused_keys.append(failure["_id"])
            continue
        kind = failure["error"].get("type", "")
        reason = failure["error"].get("reason", "")[:300]
        if kind == BLOCKED:
            raise blocked(index, reason, target)
        if status in BUSY:
            raise StoreUnavailable(
                f"Elasticsearch at {target.http} is too busy: it rejected documents for two minutes. Try again later, "
                "with fewer threads, or give the server more memory."
            )
        passage_id = next(each.passage_id for each in documents if each.key == failure["_id"])
        error_type = InputError if status == 400 else WorkError
        raise error_type(
            f"passage {passage_id!r} was refused by Elasticsearch at {target.http} (status {status}, {kind}: {reason})"
        )
    return refused_keys


def slices(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
