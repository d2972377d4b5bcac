"""Sending: what a busy server turned away goes again, and is counted; other failures name the passage."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest
from elastic_transport import ApiResponseMeta, ConnectionTimeout, HttpHeaders, NodeConfig
from elasticsearch import ApiError

from convqa.errors import InputError, StoreUnavailable, WorkError
from convqa.stores.elasticsearch import bulk, client
from convqa.stores.elasticsearch.bulk import Sender, chunks, slices
from convqa.stores.elasticsearch.schema import Entry, Item
from convqa.stores.elasticsearch.target import Target

TARGET = Target("host", 9200, False, "", "books")
ITEMS = [Item(f"key{number}", f"id{number}", b'{"a":1}') for number in range(4)]


def failed(status):
    node = NodeConfig("http", "host", 9200)
    return ApiError("no", ApiResponseMeta(status, "1.1", HttpHeaders(), 0.0, node), {"error": {"reason": "no"}})


class Server:
    """Answers bulk requests by a script: for each an error, or the statuses of its items by key (201 if not named)."""

    def __init__(self, *script):
        self.script = list(script)
        self.requests = []

    def options(self, **_):
        return self

    def bulk(self, *, index, operations, filter_path):
        lines = operations[0].split(b"\n")
        keys = [line.split(b'"')[5].decode() for line in lines if b'"_id"' in line]
        self.requests.append(keys)
        step = self.script.pop(0) if self.script else {}
        if isinstance(step, Exception):
            raise step
        statuses = [step.get(key, 201) for key in keys]
        action = lines[0].split(b'"')[1].decode()
        items = [
            {action: {"status": status} | ({"error": {"type": "t", "reason": "why"}} if status > 399 else {})}
            for status in statuses
        ]
        return SimpleNamespace(body={"errors": any(status > 399 for status in statuses), "items": items})


@pytest.fixture
def sending(monkeypatch):
    monkeypatch.setattr(client, "_FIRST_PAUSE", 0.001)

    def made(*script):
        server = Server(*script)
        monkeypatch.setattr(bulk, "client", lambda target: server)
        return Sender(TARGET, "books-1"), server

    return made


def test_all_go_in_one_request(sending):
    sender, server = sending()
    assert sender.send("create", ITEMS) == []
    assert server.requests == [["key0", "key1", "key2", "key3"]]


def test_only_what_was_turned_away_goes_again(sending):
    sender, server = sending({"key1": 429, "key2": 429}, {"key2": 503})
    assert sender.send("create", ITEMS) == []
    assert server.requests[1:] == [["key1", "key2"], ["key2"]]


@pytest.mark.parametrize("error", [failed(429), failed(502), failed(503), failed(504), ConnectionTimeout("late")])
def test_a_request_that_was_not_answered_goes_again_whole(sending, error):
    sender, server = sending(error)
    assert sender.send("create", ITEMS) == []
    assert server.requests[0] == server.requests[1]


def test_a_server_that_stays_busy_is_unavailable(sending, monkeypatch):
    monkeypatch.setattr(bulk, "PATIENCE", 0.01)
    sender, _ = sending(*[{"key1": 429}] * 50)
    with pytest.raises(StoreUnavailable, match=r"too busy.*fewer threads"):
        sender.send("create", ITEMS)


def test_what_is_there_already_is_told_apart(sending):
    sender, _ = sending({"key3": 409})
    assert sender.send("create", ITEMS) == ITEMS[3:]


def test_what_is_not_there_to_be_deleted_is_no_error(sending):
    sender, _ = sending({"key0": 404})
    assert sender.send("delete", [Item("key0", "id0")]) == [Item("key0", "id0")]


@pytest.mark.parametrize(("status", "kind"), [(400, InputError), (500, WorkError), (403, WorkError)])
def test_other_failures_name_the_passage(sending, status, kind):
    sender, server = sending({"key2": status})
    with pytest.raises(kind, match=rf"passage 'id2' was refused .*status {status}, t: why"):
        sender.send("create", ITEMS)
    assert len(server.requests) == 1


def test_requests_that_are_too_large_are_halved(sending):
    sender, server = sending(failed(413), failed(413))
    assert sender.send("create", ITEMS) == []
    assert [len(request) for request in server.requests] == [4, 2, 1, 1, 2]


def test_a_passage_that_is_too_large_alone_is_named(sending):
    sender, _ = sending(failed(413))
    with pytest.raises(InputError, match=r"passage 'id0' has 7 bytes.*http.max_content_length"):
        sender.send("create", ITEMS[:1])


def test_a_sender_that_is_stopped_does_not_wait_on(sending, monkeypatch):
    monkeypatch.setattr(client, "_FIRST_PAUSE", 60.0)
    sender, _ = sending({"key0": 429})
    timer = threading.Timer(0.05, sender.stop)
    timer.start()
    with pytest.raises(WorkError, match="cannot be completed"):
        sender.send("create", ITEMS)
    timer.join()


def test_chunks_end_at_a_number_or_at_bytes(monkeypatch):
    monkeypatch.setattr(bulk, "ITEMS", 3)
    monkeypatch.setattr(bulk, "BYTES", 10)
    sizes = [2, 2, 2, 2, 9, 30, 1]
    found = [[len(item.body) for item in chunk] for chunk in chunks(Item("", "", b"x" * size) for size in sizes)]
    assert found == [[2, 2, 2], [2], [9], [30], [1]]
    items = [Item("", "", b"x", Entry(None, b"", 0, place)) for place in range(1, 8)]
    assert [len(chunk) for chunk in chunks(items, 5)] == [3, 2, 2]


def test_slices_lose_nothing():
    assert [list(piece) for piece in slices([1, 2, 3], 2)] == [[1, 2], [3]]
    assert list(slices([], 2)) == []
