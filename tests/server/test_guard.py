"""Limits of bodies and time, headers, and errors in one form."""

from __future__ import annotations

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
