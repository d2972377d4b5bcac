"""Many searches in few requests: in chunks, from a few threads, with limits to patience."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from convqa.errors import RunError, StoreUnavailable
from convqa.stores.elasticsearch.connect import TIMEOUT, Target, client
from convqa.stores.elasticsearch.errors import PAUSE, SEARCH_FAILED, TRIES, IndexMissing, asking, red, refused

Answer = Mapping[str, Any]
T = TypeVar("T")
R = TypeVar("R")

CHUNK = 32
"""Searches of a request, requests at a time. 16 to 64 by 1 to 4 did not differ beyond noise on two cores."""
THREADS = 2

_SECONDS_EACH = 10
_ALWAYS = ("responses.status", "responses.error", "responses.timed_out", "responses._shards")
_HEADERS = {"accept": "application/json", "content-type": "application/x-ndjson"}


@dataclass(frozen=True, slots=True)
class Searches:
    """How to search an index: ``fields`` are those of an answer that are wanted; ``dfs`` counts over all shards first.

    A ``name`` that differs from the target's is the version of the index that is meant.
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
                f"collection {self.target} was indexed anew or deleted since it was opened: its index {self.name} is "
                "gone. Start again: one run must not mix two collections."
            ) from error

    def ask(self, bodies: Sequence[bytes], fields: Sequence[str]) -> list[Answer]:
        """The answers to searches, each a line of JSON, in their order; equal ones are asked once.

        :param fields: of an answer what is wanted, such as ``hits.hits._score``.
        :raises StoreUnavailable: if a search timed out or lacked shards, and again when it was repeated.
        """
        distinct = list(dict.fromkeys(bodies))
        path = ",".join((*_ALWAYS, *(f"responses.{field}" for field in fields)))
        chunks = [distinct[start : start + CHUNK] for start in range(0, len(distinct), CHUNK)]
        answers = [answer for part in spread(lambda chunk: self._chunk(chunk, path), chunks) for answer in part]
        known = dict(zip(distinct, answers, strict=True))
        return [known[body] for body in bodies]

    def _chunk(self, bodies: Sequence[bytes], path: str) -> list[Answer]:
        answers: list[Answer] = [{}] * len(bodies)
        waiting = list(range(len(bodies)))
        for number in range(TRIES):
            if number:
                time.sleep(PAUSE * 2 ** (number - 1))
            found = self._request([bodies[place] for place in waiting], path)
            failures = {}
            for place, answer in zip(waiting, found, strict=True):
                answers[place] = answer
                if failure := _failure(answer, self.target, self.name):
                    failures[place] = failure
            if not failures:
                return answers
            lasting = [failure for failure in failures.values() if not isinstance(failure, StoreUnavailable)]
            if lasting:
                raise lasting[0]
            waiting = list(failures)
        raise failures[waiting[0]]

    def _request(self, bodies: Sequence[bytes], path: str) -> Sequence[Answer]:
        data = b"".join(b"{}\n" + body + b"\n" for body in bodies)
        params = {"filter_path": path} | ({"search_type": "dfs_query_then_fetch"} if self.dfs else {})
        # One that waits for many slow searches has not failed.
        patient = client(self.target).options(request_timeout=TIMEOUT + _SECONDS_EACH * len(bodies))

        def request() -> Any:
            place = f"/{self.name}/_msearch"
            return patient.perform_request("POST", place, params=params, headers=_HEADERS, body=data).body

        found: Sequence[Answer] = asking(self.target, request)["responses"]
        return found


def spread(work: Callable[[T], R], parts: Sequence[T]) -> list[R]:
    """Do parts of a work in a few threads; results in the order of the parts."""
    if len(parts) < 2:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(min(THREADS, len(parts))) as threads:
        return list(threads.map(work, parts))


def _failure(answer: Answer, target: Target, name: str) -> BaseException | None:
    """Why an answer cannot be used, if it cannot."""
    status, shards = answer.get("status", 200), answer.get("_shards", {})
    if "error" in answer:
        return refused(status, answer, target)
    if answer.get("timed_out"):
        return StoreUnavailable(f"a search of index {name!r} at {target.http} ran out of time; try again later.")
    if shards.get("failed") or shards.get("successful", 1) < shards.get("total", 1):
        if not shards.get("failures"):
            return red(name, target)
        return refused(503, {"error": {"type": SEARCH_FAILED, "failed_shards": shards["failures"]}}, target)
    return None
