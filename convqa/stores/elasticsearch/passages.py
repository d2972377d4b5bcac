"""Passages out of an index that convqa made: some by id, or all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from convqa.domain import Passage
from convqa.errors import ConvqaError, RunError, StoreDamaged, StoreUnavailable
from convqa.stores.elasticsearch.connect import client
from convqa.stores.elasticsearch.errors import PAUSE, TRIES, asking, refused
from convqa.stores.elasticsearch.msearch import Searches, spread
from convqa.stores.elasticsearch.schema import document_id

_AT_ONCE = 1000
_PAGE = 500
_KEEP_ALIVE = "30m"
"""For how long the server keeps a state that is being read, after each page."""

Source = Mapping[str, Any]


def fetch(searches: Searches, ids: Sequence[str]) -> list[Passage | None]:
    """The passages with these ids, as they were committed; None where there is none."""
    keys = {id: document_id(id) for id in ids if _is_text(id)}
    found = documents(searches, list(keys.values()))
    return [None if (source := found.get(keys.get(id, ""))) is None else passage(source, searches) for id in ids]


def documents(searches: Searches, keys: Sequence[str]) -> dict[str, Source]:
    """``_source`` of each ``_id`` that there is."""
    chunks = [keys[start : start + _AT_ONCE] for start in range(0, len(keys), _AT_ONCE)]
    parts = spread(lambda chunk: _get(searches, chunk), chunks)
    return {key: source for part in parts for key, source in part.items()}


def _get(searches: Searches, keys: Sequence[str]) -> dict[str, Source]:
    # Not in real time: what is not committed is not seen, and nothing is refreshed for it.
    get = client(searches.target).mget
    found: dict[str, Source] = {}
    waiting = list(keys)
    for number in range(TRIES):
        if number:
            time.sleep(PAUSE * 2 ** (number - 1))
        answer = asking(
            searches.target,
            lambda ids=waiting: get(index=searches.name, ids=ids, realtime=False, filter_path=_WANTED),  # type: ignore[misc]
        )
        found.update({document["_id"]: document["_source"] for document in answer["docs"] if document.get("found")})
        failures = {
            document["_id"]: refused(503, document, searches.target)
            for document in answer["docs"]
            if "error" in document
        }
        for failure in failures.values():
            if not isinstance(failure, StoreUnavailable):
                raise failure
        if not failures:
            return found
        waiting = list(failures)
    raise failures[waiting[0]]


_WANTED = "docs._id,docs.found,docs._source,docs.error"


def scan(searches: Searches, sort: str = "_shard_doc", query: Source | None = None) -> Iterator[Mapping[str, Any]]:
    """All documents of an index as hits, page by page, in the state of the first page."""
    target, asked = searches.target, client(searches.target)
    pit = asking(target, lambda: asked.open_point_in_time(index=searches.name, keep_alive=_KEEP_ALIVE))["id"]
    after: Sequence[Any] | None = None
    try:
        while True:
            answer = _page(searches, pit, after, sort, query)
            pit, hits = answer.get("pit_id", pit), answer["hits"]["hits"]
            yield from hits
            if len(hits) < _PAGE:
                return
            after = hits[-1]["sort"]
    finally:
        # Left open it expires.
        with suppress(ConvqaError, RunError):
            asking(target, lambda: asked.options(ignore_status=404).close_point_in_time(id=pit))


def _page(
    searches: Searches, pit: str, after: Sequence[Any] | None, sort: str, query: Source | None
) -> Mapping[str, Any]:
    arguments: dict[str, Any] = {
        "pit": {"id": pit, "keep_alive": _KEEP_ALIVE},
        "size": _PAGE,
        "sort": [{sort: "asc"}],
        "track_total_hits": False,
        "query": query or {"match_all": {}},
        "allow_partial_search_results": False,
    }
    if after is not None:
        arguments["search_after"] = after
    search: Callable[..., Any] = client(searches.target).search
    answer: Mapping[str, Any] = asking(searches.target, lambda: search(**arguments)).body
    if answer.get("timed_out"):
        raise StoreUnavailable(f"a page of index {searches.name!r} at {searches.target.http} ran out of time.")
    return answer


def passage(source: Source, searches: Searches) -> Passage:
    """:raises StoreDamaged: for a document that convqa did not write."""
    try:
        return Passage.from_json(source["passage"])
    except (KeyError, TypeError, AttributeError) as error:
        raise StoreDamaged(
            f"index {searches.name} at {searches.target.http} has a document that is no passage ({error!r}). Index its "
            "passages again with --replace."
        ) from error


def _is_text(id: str) -> bool:
    return id.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in id)
