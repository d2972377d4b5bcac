"""Reading all passages page by page."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from convqa.stores.elasticsearch.connect import Target
from convqa.stores.elasticsearch.msearch import Searches
from elastic_transport import ConnectionError, ConnectionTimeout

from convqa.domain import Passage
from convqa.errors import StoreUnavailable
from convqa.stores.elasticsearch import index, passages
from convqa.stores.elasticsearch.index import Index
from convqa.stores.elasticsearch.vectors import without_vectors

TARGET = Target("host", 9200, False, "", "docs")


class Server:
    """Has some documents, and goes away after ``pages``."""

    def __init__(self, pages):
        self.pages = pages
        self.closed = 0
        self.indices = SimpleNamespace(exists=lambda index: False)

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
def serve(monkeypatch):
    def serve(pages):
        server = Server(pages)
        for module in (passages, index):
            monkeypatch.setattr(module, "client", lambda target: server)
        return server

    return serve


def scanned():
    searches = Searches(TARGET, "docs-1")
    return (passages.passage(hit["_source"], searches) for hit in passages.scan(searches))


def lacking():
    return without_vectors(Index(TARGET, "docs-1"))


@pytest.mark.parametrize("read", [scanned, lacking])
def test_every_page_is_read_and_the_view_is_closed(serve, read):
    server = serve(9)
    assert list(read()) == [Passage(f"p{number}", "a") for number in range(1200)]
    assert (server.pages, server.closed) == (6, 1)
    some = read()
    next(some)
    some.close()
    assert server.closed == 2


@pytest.mark.parametrize("read", [scanned, lacking])
@pytest.mark.parametrize("pages", [0, 1])
def test_a_server_that_goes_away_is_named_though_the_view_cannot_be_closed(serve, read, pages):
    server = serve(pages)
    with pytest.raises(StoreUnavailable, match="did not answer in time"):
        list(read())
    assert server.closed == 1
