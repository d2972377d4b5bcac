"""Reading an index: many searches in few requests, documents by their keys, and all of them page by page."""

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
"""Searches of a request. 16 to 64, in 1 to 4 threads, did not differ beyond noise on two cores."""

_DOCUMENTS = 1000
_PAGE = 500
_KEEP_ALIVE = "30m"
"""For how long the server keeps a state that is being read, after each page."""

_SECONDS_EACH = 10
_ALWAYS = ("responses.status", "responses.error", "responses.timed_out", "responses._shards")
_WANTED = "docs._id,docs.found,docs._source,docs.error"
_HEADERS = {"accept": "application/json", "content-type": "application/x-ndjson"}


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the index ``name``, a version of the target's collection or another's index.

    ``dfs``: searches count words over all shards first.
    """

    target: Target
    name: str
    dfs: bool = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        """:raises RunError: where the index that was opened is gone."""
        try:
            yield
        except IndexMissing as error:
            raise RunError(
                f"collection {self.target} was changed, indexed anew or deleted since it was opened: its index "
                f"{self.name} is gone. Start again: one run must not mix two collections."
            ) from error

    def search(self, bodies: Sequence[bytes], fields: Sequence[str]) -> list[Answer]:
        """The answers to searches, each a line of JSON, in their order; equal ones are asked once.

        :param fields: of an answer what is wanted, such as ``hits.hits._score``.
        :raises StoreUnavailable: if a search timed out or lacked shards, and again when it was repeated.
        """
        distinct = list(dict.fromkeys(bodies))
        path = ",".join((*_ALWAYS, *(f"responses.{field}" for field in fields)))
        known: dict[bytes, Answer] = {}
        for chunk in slices(distinct, CHUNK):

            def attempt(_: object, chunk: Sequence[bytes] = chunk) -> Sequence[Answer]:
                answers = self._request(chunk, path)
                _raise(failure for answer in answers if (failure := self._failure(answer)))
                return answers

            known |= zip(chunk, ask(self.target, attempt), strict=True)
        return [known[body] for body in bodies]

    def _request(self, bodies: Sequence[bytes], path: str) -> Sequence[Answer]:
        data = b"".join(b"{}\n" + body + b"\n" for body in bodies)
        params = {"filter_path": path} | ({"search_type": "dfs_query_then_fetch"} if self.dfs else {})
        # One that waits for many slow searches has not failed.
        patient = client(self.target).options(request_timeout=TIMEOUT + _SECONDS_EACH * len(bodies))
        place = f"/{self.name}/_msearch"
        answer: Any = patient.perform_request("POST", place, params=params, headers=_HEADERS, body=data).body
        found: Sequence[Answer] = answer["responses"]
        return found

    def documents(
        self, keys: Sequence[str], fields: Sequence[str] | None = None, realtime: bool = False
    ) -> dict[str, Answer]:
        """``_source`` of each ``_id`` that there is, or these fields of it.

        :param realtime: also of documents that no search sees yet.
        """
        how: dict[str, Any] = {"realtime": realtime} | ({} if fields is None else {"source": list(fields)})
        found: dict[str, Answer] = {}
        for piece in slices(keys, _DOCUMENTS):

            def attempt(known: Elasticsearch, piece: Sequence[str] = piece) -> list[Answer]:
                docs = known.mget(index=self.name, ids=list(piece), filter_path=_WANTED, **how)["docs"]
                _raise(refused(503, each, self.target) for each in docs if "error" in each)
                return [each for each in docs if each.get("found")]

            found |= {each["_id"]: each.get("_source", {}) for each in ask(self.target, attempt)}
        return found

    def scan(self, fields: Sequence[str] = ()) -> Iterator[Mapping[str, Any]]:
        """All documents as hits, page by page, in the state of the first page; ``fields``: that are not in _source."""
        pit = ask(self.target, lambda known: known.open_point_in_time(index=self.name, keep_alive=_KEEP_ALIVE))["id"]
        page: dict[str, Any] = {
            "size": _PAGE,
            "sort": [{"_shard_doc": "asc"}],
            "track_total_hits": False,
            "query": {"match_all": {}},
            "allow_partial_search_results": False,
            "docvalue_fields": list(fields),
        }
        try:
            while True:
                page["pit"] = {"id": pit, "keep_alive": _KEEP_ALIVE}
                answer: Answer = ask(self.target, lambda known: known.search(**page)).body
                if answer.get("timed_out"):
                    raise StoreUnavailable(f"a page of index {self.name!r} at {self.target.http} ran out of time.")
                pit, hits = answer.get("pit_id", pit), answer["hits"]["hits"]
                yield from hits
                if len(hits) < _PAGE:
                    return
                page["search_after"] = hits[-1]["sort"]
        finally:
            # Left open it expires.
            with suppress(ConvqaError, RunError):
                ask(self.target, lambda known: known.options(ignore_status=404).close_point_in_time(id=pit))

    def _failure(self, answer: Answer) -> BaseException | None:
        """The reason why an answer cannot be used; None if it can."""
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
    """Raise what is wrong for good, else what may pass, as a failure of this attempt."""
    for failure in sorted(failures, key=lambda failure: isinstance(failure, StoreUnavailable)):
        raise Again(failure) if isinstance(failure, StoreUnavailable) else failure
