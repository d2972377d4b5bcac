"""Sending: rejected documents go again, existing ones are returned, and other failures name the passage."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from elastic_transport import ApiResponseMeta, ConnectionTimeout, HttpHeaders, NodeConfig
from elasticsearch import ApiError, Elasticsearch

from convqa.errors import InputError, StoreUnavailable
from convqa.stores.elasticsearch import client, index
from convqa.stores.elasticsearch.index import IndexedDocument, ServerIndex
from convqa.stores.elasticsearch.target import IndexTarget

TARGET = IndexTarget("host", 9200, False, "", "books")
DOCUMENTS = [IndexedDocument(f"key{number}", f"id{number}", {"a": 1}) for number in range(4)]


def failed(status):
    node = NodeConfig("http", "host", 9200)
    return ApiError("no", ApiResponseMeta(status, "1.1", HttpHeaders(), 0.0, node), {"error": {"reason": "no"}})


class Server(Elasticsearch):
    """Answers bulk requests by a script: for each an error, or the statuses of its items by key (201 if not named)."""

    def __init__(self, *script):
        super().__init__("http://host:9200")
        self.script = list(script)
        self.requests = []

    def options(self, **_):
        return self

    def bulk(self, *, index, operations, filter_path):
        lines = [line for line in operations if b'"_id"' in line]
        keys = [line.split(b'"')[5].decode() for line in lines]
        self.requests.append(keys)
        step = self.script.pop(0) if self.script else {}
        if isinstance(step, Exception):
            raise step
        action = lines[0].split(b'"')[1].decode()
        items = []
        for key in keys:
            status, kind = step.get(key, 201), "t"
            if isinstance(status, tuple):
                status, kind = status
            error = {"error": {"type": kind, "reason": "why"}} if status > 399 else {}
            items.append({action: {"_id": key, "status": status, **error}})
        return SimpleNamespace(body={"items": items})


@pytest.fixture
def serve(monkeypatch):
    # No pauses, however busy the machine is.
    monkeypatch.setattr("elasticsearch.helpers.actions.time.sleep", lambda seconds: None)

    def serve(*script):
        server = Server(*script)
        monkeypatch.setattr(client, "client", lambda target: server)
        return server

    return serve


def create(documents=DOCUMENTS):
    return ServerIndex(TARGET, "books-1").send("create", documents)


def test_all_go_in_one_request(serve):
    server = serve()
    assert create() == create([]) == []
    assert server.requests == [["key0", "key1", "key2", "key3"]]


def test_only_rejected_documents_go_again(serve):
    server = serve({"key1": 429, "key2": 429}, {"key2": 503})
    assert create() == []
    assert server.requests[1:] == [["key1", "key2"], ["key2"]]


@pytest.mark.parametrize("error", [failed(429), failed(502), ConnectionTimeout("late")])
def test_a_request_without_an_answer_goes_again_whole(serve, error):
    server = serve(error)
    assert create() == []
    assert server.requests[0] == server.requests[1]


def test_a_server_that_stays_busy_is_unavailable(serve):
    serve(*[{"key1": 429}] * (index.MAX_RETRIES + 1))
    with pytest.raises(StoreUnavailable, match="try again"):
        create()


def test_existing_documents_are_returned(serve):
    serve({"key3": 409})
    assert create() == ["key3"]


def test_a_missing_document_to_delete_is_no_error(serve):
    serve({"key0": 404})
    assert ServerIndex(TARGET, "books-1").send("delete", [IndexedDocument("key0", "id0")]) == ["key0"]


@pytest.mark.parametrize(("status", "kind"), [(400, InputError), (500, StoreUnavailable)])
def test_other_failures_name_the_passage(serve, status, kind):
    server = serve({"key2": status})
    with pytest.raises(kind, match=rf"passage 'id2'.*status {status}: why"):
        create()
    assert len(server.requests) == 1
