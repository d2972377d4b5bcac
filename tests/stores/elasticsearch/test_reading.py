"""Many searches in few requests, with limits to patience; and all passages page by page."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from elastic_transport import ConnectionError, ConnectionTimeout

from convqa.errors import StoreUnavailable, WorkError
from convqa.stores.elasticsearch import client as module
from convqa.stores.elasticsearch import reading
from convqa.stores.elasticsearch.reading import CHUNK, Reader
from convqa.stores.elasticsearch.target import Target
from convqa.stores.elasticsearch.vectors import without_vectors

TARGET = Target("host", 9200, False, "", "docs")
GOOD = {"status": 200, "timed_out": False, "_shards": {"total": 1, "successful": 1, "failed": 0}}
BUSY = {"status": 429, "error": {"type": "es_rejected_execution_exception", "reason": "queue full"}}
LATE = {**GOOD, "timed_out": True}
PARTIAL = {
    **GOOD,
    "_shards": {
        "total": 2,
        "successful": 1,
        "failed": 1,
        "failures": [{"index": "docs-1", "reason": {"type": "no_shard_available_action_exception", "reason": None}}],
    },
}
MISSING = {**GOOD, "_shards": {"total": 2, "successful": 1, "failed": 0}}
BROKEN = {
    "status": 500,
    "error": {
        "type": "search_phase_execution_exception",
        "reason": "all shards failed",
        "failed_shards": [{"index": "docs-1", "reason": {"type": "io_exception", "reason": "disk"}}],
    },
}
WRONG = {"status": 400, "error": {"type": "parsing_exception", "reason": "odd"}}


class Server:
    """Answers each search with the next of its answers, the last one again and again."""

    def __init__(self, *answers):
        self.answers = {b'"x"': list(answers or [GOOD])}
        self.requests = []

    def options(self, **_):
        return self

    def perform_request(self, method, path, params, headers, body):
        lines = body.split(b"\n")
        assert lines[-1] == b"" and set(lines[:-1:2]) == {b"{}"}
        searches = lines[1::2]
        self.requests.append((path, params, searches))
        return type("Answer", (), {"body": {"responses": [self.answer(search) for search in searches]}})

    def answer(self, search):
        waiting = self.answers.get(search, [GOOD])
        found = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        return {**found, "echo": search}


@pytest.fixture
def serve(monkeypatch):
    def serve(*answers):
        server = Server(*answers)
        monkeypatch.setattr(reading, "client", lambda target: server)
        return server

    # Time stands still, however busy the machine is.
    monkeypatch.setattr(module, "time", SimpleNamespace(sleep=lambda seconds: None, monotonic=lambda: 0.0))
    return serve


def test_searches_go_in_chunks_and_equal_ones_once(serve):
    server = serve()
    bodies = [f'"{number % 70}"'.encode() for number in range(200)]
    answers = Reader(TARGET, "docs-1").search(bodies, ["hits"])
    assert [answer["echo"] for answer in answers] == bodies
    assert sorted(len(searches) for _, _, searches in server.requests) == sorted([CHUNK, CHUNK, 70 - 2 * CHUNK])
    path, params, _ = server.requests[0]
    assert path == "/docs-1/_msearch"
    assert params == {
        "filter_path": "responses.status,responses.error,responses.timed_out,responses._shards,responses.hits"
    }
    assert Reader(TARGET, "docs-1").search([], ["hits"]) == []


def test_several_shards_count_words_over_all(serve):
    server = serve()
    Reader(TARGET, "docs-1", dfs=True).search([b"1"], [])
    assert server.requests[0][1]["search_type"] == "dfs_query_then_fetch"


@pytest.mark.parametrize("failure", [BUSY, LATE, PARTIAL, MISSING, BROKEN])
def test_what_failed_is_asked_again(serve, failure):
    server = serve(failure, failure, GOOD)
    answers = Reader(TARGET, "docs-1").search([b'"a"', b'"x"', b'"b"'], [])
    assert [answer["echo"] for answer in answers] == [b'"a"', b'"x"', b'"b"']
    assert [searches for _, _, searches in server.requests] == [[b'"a"', b'"x"', b'"b"']] * 3


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (BUSY, "status 429: queue full"),
        (LATE, "a search of index 'docs-1' at http://host:9200 ran out of time"),
        (PARTIAL, "index 'docs-1' at http://host:9200 is red.*_cat/shards/docs-1"),
        (MISSING, "is red"),
        (BROKEN, "status 500: disk"),
    ],
)
def test_patience_ends(serve, failure, message):
    server = serve(failure)
    with pytest.raises(StoreUnavailable, match=message) as caught:
        Reader(TARGET, "docs-1").search([b'"a"', b'"x"'], [])
    assert caught.value.transient
    assert len(server.requests) == 5


def test_what_is_wrong_is_not_asked_again(serve):
    server = serve(WRONG)
    with pytest.raises(WorkError, match="status 400: odd"):
        Reader(TARGET, "docs-1").search([b'"x"'], [])
    assert len(server.requests) == 1


class Pages:
    """Has some documents, and goes away after ``pages``."""

    def __init__(self, pages):
        self.pages = pages
        self.closed = 0

    def options(self, **_):
        return self

    def open_point_in_time(self, **_):
        return {"id": "view"}

    def search(self, search_after=(0,), **_):
        if not self.pages:
            raise ConnectionTimeout("gone")
        self.pages -= 1
        first = search_after[0]
        hits = [
            {"_id": str(number), "_source": {"passage": {"id": f"p{number}", "text": "a"}}, "sort": [number + 1]}
            for number in range(first, min(first + 500, 1200))
        ]
        return SimpleNamespace(body={"hits": {"hits": hits}})

    def close_point_in_time(self, **_):
        self.closed += 1
        if not self.pages:
            raise ConnectionError("refused")


@pytest.fixture
def paged(monkeypatch):
    def paged(pages):
        server = Pages(pages)
        monkeypatch.setattr(module, "client", lambda target: server)
        return server

    return paged


def all_pages():
    return Reader(TARGET, "docs-1").scan()


def lacking():
    return without_vectors(Reader(TARGET, "docs-1"), None)


@pytest.mark.parametrize("read", [all_pages, lacking])
def test_every_page_is_read_and_the_view_is_closed(paged, read):
    server = paged(9)
    assert [hit["_id"] for hit in read()] == [str(number) for number in range(1200)]
    assert (server.pages, server.closed) == (6, 1)
    some = read()
    next(some)
    some.close()
    assert server.closed == 2


@pytest.mark.parametrize("read", [all_pages, lacking])
@pytest.mark.parametrize("pages", [0, 1])
def test_a_server_that_goes_away_is_named_though_the_view_cannot_be_closed(paged, read, pages):
    server = paged(pages)
    with pytest.raises(StoreUnavailable, match="did not answer in time"):
        list(read())
    assert server.closed == 1
