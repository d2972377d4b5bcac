"""Many searches in few requests, with limits to patience; and all passages page by page."""

from __future__ import annotations

import json

import pytest
from elastic_transport import ConnectionTimeout

from convqa.errors import InputError, StoreUnavailable
from convqa.stores.elasticsearch import client as module
from convqa.stores.elasticsearch import index
from convqa.stores.elasticsearch.index import SEARCHES_PER_REQUEST, ServerIndex
from convqa.stores.elasticsearch.target import IndexTarget

TARGET = IndexTarget("host", 9200, False, "", "docs")
GOOD = {"status": 200}
BUSY = {"status": 429, "error": {"type": "es_rejected_execution_exception", "reason": "queue full"}}
RED = {
    "status": 503,
    "error": {
        "type": "search_phase_execution_exception",
        "reason": "Search rejected due to missing shards [[docs-1][0]]",
    },
}
BROKEN = {
    "status": 500,
    "error": {
        "type": "search_phase_execution_exception",
        "reason": "all shards failed",
        "root_cause": [{"type": "io_exception", "reason": "disk", "index": "docs-1"}],
    },
}
WRONG = {"status": 400, "error": {"type": "parsing_exception", "reason": "odd"}}


class Server:
    """Answers each search with the next of its answers, the last one again and again."""

    def __init__(self, *answers):
        self.answers = {"x": list(answers or [GOOD])}
        self.requests = []

    def options(self, **_):
        return self

    def msearch(self, *, index, searches, filter_path):
        options, lines = searches[::2], searches[1::2]
        self.requests.append((index, {json.dumps(line) for line in options}, lines))
        return {"responses": [self.answer(line) for line in lines]}

    def answer(self, search):
        waiting = self.answers.get(str(search), [GOOD])
        found = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        return {**found, "hits": {"hits": [search]}}


class Clock:
    """Time that only passes in pauses, however busy the machine is."""

    now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def serve(monkeypatch):
    def serve(*answers):
        server = Server(*answers)
        monkeypatch.setattr(module, "client", lambda target: server)
        return server

    monkeypatch.setattr(module, "time", Clock())
    return serve


def test_searches_go_in_chunks(serve):
    server = serve()
    answers = ServerIndex(TARGET, "docs-1").search([str(number) for number in range(70)])
    assert answers == [[str(number)] for number in range(70)]
    chunk = SEARCHES_PER_REQUEST
    assert [len(lines) for *_, lines in server.requests] == [chunk, chunk, 70 - 2 * chunk]
    name, options, _ = server.requests[0]
    assert (name, options) == ("docs-1", {'{"allow_partial_search_results": false}'})
    assert ServerIndex(TARGET, "docs-1").search([]) == []


def test_words_are_counted_over_all_shards(serve):
    server = serve()
    ServerIndex(TARGET, "docs-1").search([{"query": 1}, {"knn": 1}])
    whole = {"allow_partial_search_results": False}
    options = {json.dumps(whole), json.dumps(whole | {"search_type": "dfs_query_then_fetch"})}
    assert server.requests[0][1] == options


@pytest.mark.parametrize("failure", [BUSY, RED, BROKEN])
def test_what_failed_is_asked_again(serve, failure):
    server = serve(failure, failure, GOOD)
    answers = ServerIndex(TARGET, "docs-1").search(["a", "x", "b"])
    assert answers == [["a"], ["x"], ["b"]]
    assert [lines for *_, lines in server.requests] == [["a", "x", "b"]] * 3


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (BUSY, "status 429: queue full"),
        (RED, "status 503"),
        (BROKEN, "status 500: disk"),
    ],
)
def test_patience_ends(serve, failure, message):
    server = serve(failure)
    with pytest.raises(StoreUnavailable, match=message) as caught:
        ServerIndex(TARGET, "docs-1").search(["a", "x"])
    assert caught.value.transient
    assert len(server.requests) == 5


def test_what_is_wrong_is_not_asked_again(serve):
    server = serve(WRONG)
    with pytest.raises(InputError, match="status 400: odd"):
        ServerIndex(TARGET, "docs-1").search(["x"])
    assert len(server.requests) == 1


class Pages:
    """Has some documents, and goes away after ``pages``."""

    def __init__(self, pages):
        self.pages = pages
        self.closed = 0

    def options(self, **_):
        return self

    def search(self, **_):
        return self.scroll("0")

    def scroll(self, scroll_id, **_):
        if not self.pages:
            raise ConnectionTimeout("gone")
        self.pages -= 1
        first = int(scroll_id)
        hits = [{"_id": str(number)} for number in range(first, min(first + 500, 1200))]
        return {"_scroll_id": str(first + 500), "hits": {"hits": hits}, "_shards": {"total": 1, "successful": 1}}

    def clear_scroll(self, **_):
        self.closed += 1


@pytest.fixture
def paged(monkeypatch):
    def paged(pages):
        server = Pages(pages)
        monkeypatch.setattr(index, "client", lambda target: server)
        return server

    return paged


def all_pages():
    return ServerIndex(TARGET, "docs-1").scan()


def test_every_page_is_read_and_the_view_is_closed(paged):
    server = paged(9)
    assert [hit["_id"] for hit in all_pages()] == [str(number) for number in range(1200)]
    assert (server.pages, server.closed) == (5, 1)
    some = all_pages()
    next(some)
    some.close()
    assert server.closed == 2


@pytest.mark.parametrize("pages", [0, 1])
def test_a_server_that_goes_away_is_named(paged, pages):
    paged(pages)
    with pytest.raises(StoreUnavailable, match="did not answer in time"):
        list(all_pages())
