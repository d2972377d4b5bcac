"""Read an index: many searches in few requests, documents by key, and all documents page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import orjson
from elastic_transport import TransportError
from elasticsearch import ApiError, Elasticsearch
from elasticsearch.helpers import ScanError, scan

from convqa.errors import RunError, StoreUnavailable
from convqa.stores.elasticsearch.bulk import slices
from convqa.stores.elasticsearch.client import TIMEOUT, ask, client
from convqa.stores.elasticsearch.errors import IndexMissing, refused, translated
from convqa.stores.elasticsearch.target import IndexTarget

Answer = Mapping[str, Any]

SEARCHES_PER_REQUEST = 32
"""16 to 64, in 1 to 4 threads, were equally fast on two cores."""

_DOCUMENTS_PER_REQUEST = 1000
_PAGE = 500
_KEEP_ALIVE = "30m"
"""How long the server keeps a scan after each page."""

_SECONDS_PER_SEARCH = 10
_WHOLE = b'{"allow_partial_search_results":false}'
"""The options of each search: one that lacks shards, or runs out of time, is an error."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class IndexReader:
    """Reads the index ``name``: a version of the target's collection, or a foreign index.

    ``dfs``: searches take word frequencies from all shards.
    """

    target: IndexTarget
    name: str
    dfs: bool = False

    def search(self, bodies: Sequence[Mapping[str, Any]], fields: Sequence[str]) -> list[Answer]:
        """Return the answers to searches.

        :param fields: the fields of answers to return, such as ``hits.hits._score``.
        :raises RunError: from this and other methods, if the index that was opened is gone.
        :raises StoreUnavailable: if searches repeatedly time out or lack shards.
        """
        path = ["responses.status", "responses.error", *(f"responses.{field}" for field in fields)]
        lines = [orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY) for body in bodies]
        answers: list[Answer] = []
        for piece in slices(lines, SEARCHES_PER_REQUEST):
            answers += self._ask(partial(self._search, piece, path))
        return answers

    def documents(
        self, keys: Sequence[str], fields: Sequence[str] | None = None, realtime: bool = False
    ) -> dict[str, Answer]:
        """Return ``_source``, or some fields of it, by ``_id``; missing documents are left out.

        :param realtime: include documents that no search sees yet.
        """
        how: dict[str, Any] = {"source": True if fields is None else list(fields), "realtime": realtime}
        sources: dict[str, Answer] = {}
        for piece in slices(keys, _DOCUMENTS_PER_REQUEST):
            for document in self._ask(partial(self._documents, piece, how)):
                if document["found"]:
                    sources[document["_id"]] = document.get("_source", {})
        return sources

    def scan(self) -> Iterator[Mapping[str, Any]]:
        """Yield all documents as hits at one point in time."""
        known = client(self.target)
        # The helper would take a first page that lacks shards for an empty index.
        how: dict[str, Any] = {"allow_partial_search_results": False}
        try:
            yield from scan(known, index=self.name, size=_PAGE, scroll=_KEEP_ALIVE, **how)
        except ScanError as error:
            raise StoreUnavailable(f"index {self.name!r} at {self.target.http} cannot be read whole: {error}") from None
        except (TransportError, ApiError) as error:
            raise self._explained(translated(error, self.target)) from None

    def _search(self, lines: Sequence[bytes], path: Sequence[str], es: Elasticsearch) -> list[Answer]:
        # Many slow searches take longer than one request may.
        patient = es.options(request_timeout=TIMEOUT + _SECONDS_PER_SEARCH * len(lines))
        # The client accepts lines of JSON, against its type.
        searches: list[Any] = []
        for line in lines:
            searches += [_WHOLE, line]
        search_type = "dfs_query_then_fetch" if self.dfs else "query_then_fetch"
        answer = patient.msearch(index=self.name, searches=searches, filter_path=path, search_type=search_type)
        return self._complete(answer["responses"])

    def _documents(self, keys: Sequence[str], how: Mapping[str, Any], es: Elasticsearch) -> list[Answer]:
        return self._complete(es.mget(index=self.name, ids=list(keys), **how)["docs"])

    def _complete(self, answers: list[Answer]) -> list[Answer]:
        """Return answers; raise the error of the first failed one."""
        for answer in answers:
            if "error" in answer:
                raise refused(answer.get("status", 503), answer, self.target)
        return answers

    def _ask(self, call: Callable[[Elasticsearch], T]) -> T:
        try:
            return ask(self.target, call)
        except IndexMissing as error:
            raise self._explained(error) from error

    def _explained(self, error: BaseException) -> BaseException:
        if not isinstance(error, IndexMissing):
            return error
        return RunError(
            f"collection {self.target} was changed, indexed anew or deleted since it was opened: its index {self.name} "
            "is gone. Start again: one run must not mix two collections."
        )
