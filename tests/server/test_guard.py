"""Limits of bodies and time, headers, and errors in one form."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time

import pytest

JSON = {"Content-Type": "application/json"}


def test_a_body_over_the_limit_is_refused(make_client):
    client = make_client(limits={"body_bytes": 1000})
    for body in (b"x" * 2000, iter([b"x" * 800, b"x" * 800])):
        reply = client.post("/api/turn", content=body, headers=JSON)
        assert reply.status_code == 413 and "1000 bytes" in reply.json()["error"]["message"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{", "not valid JSON"),
        (b"[" * 5000, "not valid JSON"),
        (b'{"question": "\\ud800"}', "not valid JSON"),
        (b"\xff\xfe", "not valid JSON"),
        (b"[]", "the body"),
        (b"3", "the body"),
        (b"", "the body"),
    ],
)
def test_bodies_that_are_none(client, body, said):
    reply = client.post("/api/turn", content=body, headers=JSON)
    assert 400 <= reply.status_code < 500 and said in reply.json()["error"]["message"]


@pytest.mark.parametrize("path", ["/nowhere", "/api/turn", "/api/conversations/none"])
def test_errors_have_one_form(client, path):
    error = client.get(path).json()["error"]
    assert set(error) == {"message", "type", "code"} and error["code"] in {404, 405}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/turn", b'{"question":"x","filter":{"a":[' + b"{}," * 250_000 + b"{}]}}"),
        ("/api/turn", b'{"question":"x","history":[' + b"{}," * 250_000 + b"{}]}"),
        ("/v1/chat/completions", b'{"model":"talk","messages":[' + b"0," * 400_000 + b"0]}"),
    ],
)
def test_many_mistakes_are_refused_at_once_and_in_few_words(client, path, body):
    begun = time.process_time()
    reply = client.post(path, content=body, headers=JSON)
    assert reply.status_code in {400, 422} and len(reply.content) < 2000
    assert time.process_time() - begun < 1


def test_a_body_that_is_not_declared_as_json(client):
    reply = client.post("/api/turn", content=b'{"question": "x"}', headers={"Content-Type": "text/plain"})
    assert reply.status_code == 415 and "Content-Type: application/json" in reply.json()["error"]["message"]


def test_a_collection_that_is_gone_is_said_in_json(client, monkeypatch):
    from convqa.errors import StoreUnavailable

    def away(*_):
        raise StoreUnavailable("/a/path is gone")

    monkeypatch.setattr("convqa.server.service.Service.passage", away)
    reply = client.get("/api/passages/faust")
    assert reply.status_code == 503 and reply.headers["retry-after"] and "/a/path" not in reply.text


def test_headers_of_security(client):
    for path in ("/healthz", "/nowhere", "/api/pipelines"):
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


def test_a_name_that_was_made_to_point_here_is_refused(make_client, monkeypatch):
    client = make_client(hosts=["proxy.example"])
    for host, status in (("evil.example", 400), ("localhost:8000", 200), ("[::1]:8000", 200), ("proxy.example", 200)):
        assert client.get("/api/conversations", headers={"Host": host}).status_code == status, host
    monkeypatch.setenv("MY_KEY", "k" * 16)
    client = make_client(keys={"mine": {"env": "MY_KEY"}})
    assert client.get("/healthz", headers={"Host": "any.example"}).status_code == 200


HERE = b"127.0.0.1:8000"


@pytest.mark.parametrize(
    ("hosts", "status"),
    [
        ([HERE], 200),
        ([b"LOCALHOST"], 200),
        ([], 400),
        ([b""], 400),
        ([HERE, HERE], 400),
        ([HERE, b"evil.example"], 400),
        ([b"evil.example", HERE], 400),
        ([b"a{b.example"], 400),
        ([b"127.0.0.1@evil.example"], 400),
        ([b"evil.example#@127.0.0.1"], 400),
        ([b"127.0.0.1/x"], 400),
        ([b"127.0.0.1, evil.example"], 400),
        ([b"127.0.0.1:port"], 400),
        ([b"\xff"], 400),
    ],
)
def test_the_check_of_hosts_fails_closed(make_app, hosts, status):
    assert statuses_of(make_app(), [(b"host", host) for host in hosts]) == [status]


def test_headers_have_a_limit(make_app):
    headers = [(b"host", HERE)]
    for length, status in ((60_000, 200), (66_000, 431), (1_000_000, 431)):
        assert statuses_of(make_app(), [*headers, (b"x-long", b"a" * length)]) == [status]
    many = [(f"x-{number}".encode(), b"a" * 100) for number in range(700)]
    assert statuses_of(make_app(), headers + many) == [431]


def statuses_of(app, headers):
    """The status of a request with exactly these headers, which no client would send."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/healthz", "query_string": b"", "headers": headers}
    scope |= {"server": ("127.0.0.1", 8000), "scheme": "http", "root_path": "", "http_version": "1.1"}
    asyncio.run(app(scope, receive, send))
    return [message["status"] for message in sent if message["type"] == "http.response.start"]


@pytest.mark.parametrize("depth", [100, 1000, 1020, 5000])
def test_deep_bodies_are_refused(client, depth):
    deep = b"[" * depth + b"]" * depth
    for path, body in (
        ("/api/turn", b'{"question":"x","filter":{"a":' + deep + b"}}"),
        ("/api/turn", deep),
        ("/v1/chat/completions", b'{"model":"talk","messages":[],"filter":' + deep + b"}"),
    ):
        reply = client.post(path, content=body, headers=JSON)
        assert reply.status_code in {400, 422} and reply.json()["error"]["message"], (path, depth)


def test_other_methods_of_a_path_are_named(client):
    for path, allowed in (
        ("/api/conversations/x", "DELETE, GET, PATCH"),
        ("/api/turn", "POST"),
        ("/healthz", "GET, HEAD"),
    ):
        reply = client.put(path)
        assert (reply.status_code, reply.headers["allow"]) == (405, allowed)


def test_no_station_starts_after_the_timeout(make_client, talk, monkeypatch):
    from convqa.components.builders.sentences import SentencesBuilder
    from convqa.components.readers.units import UnitsReader

    entered, may_end = [], threading.Event()
    read, build = UnitsReader.read_batch, SentencesBuilder.build_batch

    def slow(self, *columns):
        entered.append("reader")
        may_end.wait(60)
        return read(self, *columns)

    def noted(self, *columns):
        entered.append("builder")
        return build(self, *columns)

    monkeypatch.setattr(UnitsReader, "read_batch", slow)
    monkeypatch.setattr(SentencesBuilder, "build_batch", noted)
    client = make_client(limits={"seconds": 2})
    assert client.post("/api/turn", json={"question": "Who was Marie Curie?"}).status_code == 504
    may_end.set()
    time.sleep(0.5)
    assert entered == ["reader"]
    monkeypatch.setattr(UnitsReader, "read_batch", read)
    assert make_client().post("/api/turn", json={"question": "Who was Marie Curie?"}).status_code == 200


def test_a_full_disk_costs_no_answer(client, monkeypatch):
    from convqa.server.conversations import Conversations

    def fail(*arguments):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(Conversations, "add", fail)
    reply = client.post("/api/turn", json={"question": "Who was Marie Curie?"}).json()
    assert "physicist" in reply["answer"]["text"]
    assert reply["conversation"] is None and "could not store this conversation" in reply["caveat"]
    monkeypatch.setattr(Conversations, "summaries", fail)
    message = client.get("/api/conversations").json()["error"]["message"]
    assert message == "The stored conversations are unavailable. Try again."


def test_what_takes_too_long(make_client, talk, monkeypatch):
    client = make_client(limits={"seconds": 0.2})
    run = talk.run
    monkeypatch.setattr(talk, "run", lambda *given: time.sleep(0.6) or run(*given))
    reply = client.post("/api/turn", json={"question": "Who was Marie Curie?"})
    assert reply.status_code == 504 and "longer than 0.2 s" in reply.json()["error"]["message"]
    with client.stream(
        "POST", "/api/turn", json={"question": "Who was Marie Curie?"}, headers={"Accept": "text/event-stream"}
    ) as events:
        assert "event: error" in events.read().decode()


def test_a_fault_of_ours_keeps_its_details_to_the_log(client, monkeypatch, caplog):
    monkeypatch.setattr("convqa.exports.replies.turn", lambda *_: 1 / 0)
    monkeypatch.setattr("convqa.server.guard.log.propagate", True)
    reply = client.post("/api/turn", json={"question": "Who was Marie Curie?"})
    assert reply.status_code == 500 and "ZeroDivisionError" not in reply.text and "ZeroDivisionError" in caplog.text
