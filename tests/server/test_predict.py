"""MRQA's predict function over HTTP."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def predict(make_client, qa):
    client = make_client({"reading": qa.pipeline})
    return lambda body: client.post("/", content=body if isinstance(body, str | bytes) else json.dumps(body))


def test_a_context_in_its_answers_out(predict, line):
    reply = predict(line)
    assert reply.json() == {"q1": "Goethe wrote Faust.", "q2": "Schiller wrote Wallenstein."}
    assert predict({"header": {"dataset": "NewsQA", "split": "dev"}}).json() == {}


def test_lone_surrogates_as_requests_sends_them(predict, line):
    body = r'{"context": "Goethe \ud800 wrote Faust.", "qas": [{"qid": "q", "question": "Who wrote Faust?"}]}'
    assert predict(body).json() == {"q": "Goethe \ufffd wrote Faust."}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("no JSON", "invalid JSON"),
        ("", "invalid JSON"),
        (b"\xff\xfe", "byte 1 is not UTF-8"),
        ("[" * 100_000, "the JSON is nested too deeply"),
        ('{"context": "x", "qas": [{"qid": "a"}]}', "qas[0].question: is missing"),
    ],
)
def test_what_cannot_be_read_is_said_in_json(predict, body, said):
    reply = predict(body)
    assert reply.status_code == 400 and said in reply.json()["error"]["message"]


def test_without_a_pipeline_that_reads(client, line):
    reply = client.post("/", json=line)
    assert reply.status_code == 404 and "convqa serve --pipeline mrqa" in reply.json()["error"]["message"]


def test_beyond_this_machine_it_wants_a_key(make_client, qa, line, monkeypatch):
    client = make_client({"reading": qa.pipeline}, host="0.0.0.0", without_keys=True)
    assert client.post("/", json=line).status_code in {404, 405}
    monkeypatch.setenv("KEY", "k" * 16)
    client = make_client({"reading": qa.pipeline}, host="0.0.0.0", keys={"a": {"env": "KEY"}})
    assert client.post("/", json=line).status_code == 401
    assert client.post("/", json=line, headers={"Authorization": f"Bearer {'k' * 16}"}).status_code == 200


def test_no_page_of_others_may_ask(make_client, qa, line):
    client = make_client({"reading": qa.pipeline})
    assert client.post("/", json=line, headers={"Origin": "https://evil.example"}).status_code == 403
