"""Read an index: many searches in few requests, documents by key, and all documents page by page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from elasticsearch import Elasticsearch

from convqa.errors import ConvqaError, RunError, StoreUnavailable
from convqa.stores.elasticsearch.bulk import slices
from convqa.stores.elasticsearch.client import TIMEOUT, Again, ask, client
from convqa.stores.elasticsearch.errors import NO_SHARD, SEARCH_FAILED, IndexMissing, refused
from convqa.stores.elasticsearch.target import Target

Answer = Mapping[str, Any]

CHUNK = 32
"""Searches per request. 16 to 64, in 1 to 4 threads, were equally fast on two cores."""

_DOCUMENTS = 1000
_PAGE = 500
_KEEP_ALIVE = "30m"
"""How long the server keeps a point in time after each page."""

_SECONDS_EACH = 10
_ALWAYS = ("responses.status", "responses.error", "responses.timed_out", "responses._shards")
_WANTED = "docs._id,docs.found,docs._source,docs.error"
_HEADERS = {"accept": "application/json", "content-type": "application/x-ndjson"}


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the index ``name``: a version of the target's collection, or a foreign index.

    ``dfs``: searches take word frequencies from all shards.
    """

    target: Target
    name: str
    dfs: bool = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Raise a ``RunError`` if the index that was opened is gone."""
        try:
            yield
        except IndexMissing as error:
            raise RunError(
                f"collection {self.target} was changed, indexed anew or deleted since it was opened: its index "
                f"{self.name} is gone. Start again: one run must not mix two collections."
            ) from error

    def search(self, bodies: Sequence[bytes], fields: Sequence[str]) -> list[Answer]:
        """Return the answers to searches, each a line of JSON. Equal searches are sent once.

        :param fields: the fields of answers to return, such as ``hits.hits._score``.
        :raises StoreUnavailable: if searches repeatedly time out or lack shards.
        """
        distinct = list(dict.fromkeys(bodies))
        path = ",".join((*_ALWAYS, *(f"responses.{field}" for field in fields)))
        answer_of: dict[bytes, Answer] = {}
        for chunk in slices(distinct, CHUNK):

            def attempt(_: object, chunk: Sequence[bytes] = chunk) -> Sequence[Answer]:
                answers = self._request(chunk, path)
                _raise(failure for answer in answers if (failure := self._failure(answer)))
                return answers

            answer_of |= zip(chunk, ask(self.target, attempt), strict=True)
        return [answer_of[body] for body in bodies]

    def _request(self, bodies: Sequence[bytes], path: str) -> Sequence[Answer]:
        data = b"".join(b"{}\n" + body + b"\n" for body in bodies)
        params = {"filter_path": path} | ({"search_type": "dfs_query_then_fetch"} if self.dfs else {})
        # Many slow searches take longer than one request may.
        patient = client(self.target).options(request_timeout=TIMEOUT + _SECONDS_EACH * len(bodies))
        place = f"/{self.name}/_msearch"
        answer: Any = patient.perform_request("POST", place, params=params, headers=_HEADERS, body=data).body
        answers: Sequence[Answer] = answer["responses"]
        return answers

    def documents(
        self, keys: Sequence[str], fields: Sequence[str] | None = None, realtime: bool = False
    ) -> dict[str, Answer]:
        """Return ``_source``, or some fields of it, by ``_id``; missing documents are left out.

        :param realtime: include documents that no search sees yet.
        """
        how: dict[str, Any] = {"realtime": realtime} | ({} if fields is None else {"source": list(fields)})
        sources: dict[str, Answer] = {}
        for piece in slices(keys, _DOCUMENTS):

            def attempt(es: Elasticsearch, piece: Sequence[str] = piece) -> list[Answer]:
                docs = es.mget(index=self.name, ids=list(piece), filter_path=_WANTED, **how)["docs"]
                _raise(refused(503, each, self.target) for each in docs if "error" in each)
                return [each for each in docs if each.get("found")]

            sources |= {each["_id"]: each.get("_source", {}) for each in ask(self.target, attempt)}
        return sources

    def scan(self) -> Iterator[Mapping[str, Any]]:
        """Yield all documents as hits at one point in time."""
        pit = ask(self.target, lambda es: es.open_point_in_time(index=self.name, keep_alive=_KEEP_ALIVE))["id"]
        page: dict[str, Any] = {
            "size": _PAGE,
            "sort": [{"_shard_doc": "asc"}],
            "track_total_hits": False,
            "query": {"match_all": {}},
            "allow_partial_search_results": False,
        }
        try:
            while True:
                page["pit"] = {"id": pit, "keep_alive": _KEEP_ALIVE}
                answer: Answer = ask(self.target, lambda es: es.search(**page)).body
                if answer.get("timed_out"):
                    raise StoreUnavailable(f"a page of index {self.name!r} at {self.target.http} ran out of time.")
                pit, hits = answer.get("pit_id", pit), answer["hits"]["hits"]
                yield from hits
                if len(hits) < _PAGE:
                    return
                page["search_after"] = hits[-1]["sort"]
        finally:
            # If it stays open, it expires.
            with suppress(ConvqaError, RunError):
                ask(self.target, lambda es: es.options(ignore_status=404).close_point_in_time(id=pit))

    def _failure(self, answer: Answer) -> BaseException | None:
        """Return the error of a failed or incomplete search; None for a good answer."""
        status, shards = answer.get("status", 200), answer.get("_shards", {})
        if "error" in answer:
            return refused(status, answer, self.target)
        if answer.get("timed_out"):
            return StoreUnavailable(
                f"a search of index {self.name!r} at {self.target.http} ran out of time; try again later."
            )
        if shards.get("failed") or shards.get("successful", 1) < shards.get("total", 1):
            failures = shards.get("failures") or [{"reason": {"type": NO_SHARD}}]
            error = {"type": SEARCH_FAILED, "index": self.name, "failed_shards": failures}
            return refused(503, {"error": error}, self.target)
        return None


def _raise(failures: Iterable[BaseException]) -> None:
    """Raise the first permanent failure, or else the first transient one, to be retried."""
    for failure in sorted(failures, key=lambda failure: isinstance(failure, StoreUnavailable)):
        raise Again(failure) if isinstance(failure, StoreUnavailable) else failure
