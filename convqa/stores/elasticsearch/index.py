"""Indexes on a server: create, clone, delete, search and read them, and switch the alias of a collection."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar

from elastic_transport import TransportError
from elasticsearch import ApiError, Elasticsearch
from elasticsearch.helpers import ScanError, scan, streaming_bulk

from convqa.errors import ConvqaError, InputError, RunError, StoreUnavailable
from convqa.stores.elasticsearch.client import BUSY, TIMEOUT, ask, client, refused, translated
from convqa.stores.elasticsearch.lock import CollectionLock
from convqa.stores.elasticsearch.schema import FORMAT, Meta, meta_of, vectors_of
from convqa.stores.elasticsearch.target import IndexTarget
from convqa.validation import shorten

T = TypeVar("T")
ServerHit = Mapping[str, Any]
"""A document in an answer of the server."""

LOAD_PATIENCE = 120.0
"""Seconds for which requests of a load to a silent server are repeated."""

MAX_RETRIES = 14
"""Rejected documents are sent again this often, after pauses of 1, 2, 4, 8, 10, 10 ... seconds: two minutes in all."""

MAX_REQUEST_BYTES = 20_000_000
"""A larger document is sent alone."""

_LONGEST_PAUSE = 10.0
_BULK_TIMEOUT = 120.0
_CONFLICT, _MISSING = 409, 404
_KEPT = "items.*._id,items.*.status,items.*.error.type,items.*.error.reason"

SEARCHES_PER_REQUEST = 32
"""16 to 64, in 1 to 4 threads, were equally fast on two cores."""

_DOCUMENTS_PER_REQUEST = 1000
_PAGE = 500
_KEEP_ALIVE = "30m"
"""How long the server keeps a scan after each page."""

_SECONDS_PER_SEARCH = 10
_ANSWER = ("responses.status", "responses.error", "responses.hits.hits")
_GRACE_SECONDS = 1.0
"""Time for searches of an old version to end."""
_LONGEST_SECONDS = 6 * 3600.0
"""Timeout of a merge or clone."""
_RECORD = "*.aliases,*.mappings,*.settings.index,error,status"


class IndexedDocument(NamedTuple):
    """A document to send: its ``_id``, the passage's id for messages, and its content (none for a deletion)."""

    key: str
    passage_id: str
    source: Mapping[str, Any] | None = None


class ServerIndex:
    """An index by its own name, not an alias; by default a new version ``NAME-YYYYMMDDHHMMSS-xxxx``."""

    def __init__(self, target: IndexTarget, name: str = "") -> None:
        now = time.strftime("%Y%m%d%H%M%S", time.gmtime())
        self.target = target
        self.name = name or f"{target.index}-{now}-{secrets.token_hex(2)}"
        self._with_vectors = f"{self.name},{vectors_of(self.name)}"

    @property
    def vectors(self) -> ServerIndex:
        """The index of the vectors."""
        return ServerIndex(self.target, vectors_of(self.name))

    def create(self, settings: Mapping[str, Any], mappings: Mapping[str, Any]) -> None:
        ask(self.target, lambda es: es.indices.create(index=self.name, settings=settings, mappings=mappings))

    def clone(self, has_vectors: bool) -> ServerIndex:
        """Return a copy without an alias, with its vectors. It takes about a second, as files are hard-linked."""
        copy = ServerIndex(self.target)
        self.configure({"blocks.write": True})
        self._clone(self.name, copy.name)
        if has_vectors:
            self._clone(vectors_of(self.name), vectors_of(copy.name))
        return copy

    def _clone(self, source: str, name: str) -> None:
        settings = {"index.blocks.write": None, "index.number_of_replicas": 0}
        self._ask_long(lambda es: es.indices.clone(index=source, target=name, settings=settings, timeout="10m"))

    def delete(self) -> None:
        """Remove the index and its vectors."""
        ask(self.target, lambda es: es.indices.delete(index=self._with_vectors, ignore_unavailable=True))

    def discard(self) -> None:
        """Remove the index if the server answers. The next writer removes what stays."""
        with suppress(ConvqaError, RunError):
            self.delete()

    def write(self, meta: Meta) -> None:
        ask(self.target, lambda es: es.indices.put_mapping(index=self.name, meta=meta.to_json()))

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Change settings of the index and its vectors."""
        ask(
            self.target,
            lambda es: es.indices.put_settings(index=self._with_vectors, settings=settings, ignore_unavailable=True),
        )

    def refresh(self) -> None:
        self._ask_long(lambda es: es.indices.refresh(index=self.name))

    def count(self) -> int:
        return int(ask(self.target, lambda es: es.count(index=self.name))["count"])

    def merge(self) -> None:
        """Merge each shard into one segment without deleted documents. Searches fail meanwhile."""
        self._ask_long(lambda es: es.indices.forcemerge(index=self.name, max_num_segments=1))
        self.refresh()

    def send(self, action: Literal["create", "index", "delete"], documents: Sequence[IndexedDocument]) -> list[str]:
        """Send documents until each is answered. Return the keys that exist (to create) or are missing (to delete).

        :raises InputError: for a document that the server refuses.
        :raises StoreUnavailable: if it stays busy or away.
        """
        if not documents:
            return []

        def attempt(es: Elasticsearch) -> list[Mapping[str, Any]]:
            actions = [{"_op_type": action, "_id": each.key, "_source": each.source or {}} for each in documents]
            failures = streaming_bulk(
                es.options(request_timeout=_BULK_TIMEOUT),
                actions,
                chunk_size=len(actions),
                max_chunk_bytes=MAX_REQUEST_BYTES,
                raise_on_error=False,
                yield_ok=False,
                max_retries=MAX_RETRIES,
                initial_backoff=1,
                max_backoff=_LONGEST_PAUSE,
                retry_on_status=tuple(BUSY),
                index=self.name,
                filter_path=_KEPT,
            )
            return [failure[action] for _, failure in failures]

        refused_keys = []
        for failure in ask(self.target, attempt, LOAD_PATIENCE):
            status = failure["status"]
            if status == _CONFLICT or (action == "delete" and status == _MISSING):
                refused_keys.append(failure["_id"])
                continue
            error = refused(status, failure, self.target)
            passage_id = next(each.passage_id for each in documents if each.key == failure["_id"])
            raise type(error)(f"passage {shorten(passage_id)}: {error}")
        return refused_keys

    def search(self, bodies: Sequence[Mapping[str, Any]]) -> list[list[ServerHit]]:
        """Return the hits of searches.

        :raises RunError: from this and other methods, if the index that was opened is gone.
        :raises StoreUnavailable: if searches repeatedly time out or lack shards.
        """
        answers: list[Mapping[str, Any]] = []
        for piece in slices(bodies, SEARCHES_PER_REQUEST):
            answers += ask(self.target, partial(self._search, piece))
        # An answer without hits lacks the list.
        return [answer.get("hits", {}).get("hits", []) for answer in answers]

    def documents(
        self,
        keys: Sequence[str],
        fields: Sequence[str] | None = None,
        realtime: bool = False,
    ) -> dict[str, Mapping[str, Any]]:
        """Return ``_source``, or some fields of it, by ``_id``; missing documents are left out.

        :param realtime: include documents that no search sees yet.
        """
        sources = {}
        for piece in slices(keys, _DOCUMENTS_PER_REQUEST):
            how = {"ids": piece, "source": True if fields is None else fields, "realtime": realtime}
            for document in ask(self.target, partial(self._documents, how)):
                if document["found"]:
                    sources[document["_id"]] = document.get("_source", {})
        return sources

    def scan(self, options: Mapping[str, Any] | None = None) -> Iterator[ServerHit]:
        """Yield all documents as hits at one point in time.

        :param options: the body of the search; None = whole documents.
        """
        known = client(self.target)
        try:
            yield from scan(
                known,
                options,
                index=self.name,
                size=_PAGE,
                scroll=_KEEP_ALIVE,
                # The helper would take a first page that lacks shards for an empty index.
                allow_partial_search_results=False,
            )
        except ScanError as error:
            raise StoreUnavailable(f"index {self.name!r} at {self.target.http} cannot be read whole: {error}") from None
        except (TransportError, ApiError) as error:
            raise translated(error, self.target) from None

    def _search(self, bodies: Sequence[Mapping[str, Any]], es: Elasticsearch) -> list[Any]:
        lines: list[Mapping[str, Any]] = []
        for body in bodies:
            options: dict[str, Any] = {"allow_partial_search_results": False}
            if "query" in body:
                # Word frequencies of all shards count. The server skips this step for a single shard.
                options["search_type"] = "dfs_query_then_fetch"
            lines += [options, body]
        # Many slow searches take longer than one request may.
        patient = es.options(request_timeout=TIMEOUT + _SECONDS_PER_SEARCH * len(bodies))
        answer = patient.msearch(index=self.name, searches=lines, filter_path=_ANSWER)
        return self._complete(answer["responses"])

    def _documents(self, how: Mapping[str, Any], es: Elasticsearch) -> list[Any]:
        return self._complete(es.mget(index=self.name, **how)["docs"])

    def _complete(self, answers: list[Any]) -> list[Any]:
        """Return answers; raise the error of the first failed one."""
        for answer in answers:
            if "error" in answer:
                raise refused(answer.get("status", 503), answer, self.target)
        return answers

    def _ask_long(self, call: Callable[[Elasticsearch], Any]) -> None:
        ask(self.target, lambda es: call(es.options(request_timeout=_LONGEST_SECONDS)), LOAD_PATIENCE)


def slices(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]


def indices_like(target: IndexTarget, pattern: str) -> dict[str, Any]:
    """Return the server's records of the indexes that match a pattern, name or alias, by name."""
    how: dict[str, Any] = {
        "index": pattern,
        "expand_wildcards": ["open", "closed"],
        "filter_path": _RECORD,
    }
    answer = ask(target, lambda es: es.options(ignore_status=404).indices.get(**how))
    return {} if answer.meta.status == 404 else dict(answer)


def look_up(target: IndexTarget) -> tuple[str, Mapping[str, Any]] | None:
    """Return the name and record of the index that a name or alias refers to, or None."""
    indices = indices_like(target, target.index)
    if len(indices) > 1:
        names = ", ".join(sorted(indices)[:5])
        raise InputError(f"collection {target} is an alias of {len(indices)} indexes ({names}); expected one.")
    return next(iter(indices.items()), None)


def put_in_place(
    index: ServerIndex,
    old: ServerIndex | None,
    replicas: int,
    lock: CollectionLock,
) -> None:
    """Switch a collection's alias to a version in one call, and then remove the old one."""
    target = index.target
    index.configure({"number_of_replicas": replicas})
    actions: list[dict[str, Any]] = [{"add": {"index": index.name, "alias": target.index}}]
    if old is not None:
        # Without must_exist the server adds the alias even if the old version has lost it.
        actions.append({"remove": {"index": old.name, "alias": target.index, "must_exist": True}})
    lock.check()
    ask(target, lambda es: es.indices.update_aliases(actions=actions))
    if old is not None:
        time.sleep(_GRACE_SECONDS)
        old.discard()


def unfinished(target: IndexTarget) -> list[ServerIndex]:
    """Return the versions of a collection without an alias, which killed writers left.

    Only the holder of the lock may use them.
    """
    return [
        ServerIndex(target, name)
        for name, index in indices_like(target, f"{target.index}-*").items()
        if is_version(name, target.index) and is_own(index) and not index.get("aliases")
    ]


def is_version(name: str, alias: str) -> bool:
    return re.fullmatch(re.escape(alias) + r"-\d{14}-[0-9a-f]{4}", name) is not None


def is_own(index: Mapping[str, Any]) -> bool:
    return meta_of(index).get("format") == FORMAT
