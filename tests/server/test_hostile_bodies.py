"""Bodies that no client should send: each is refused with a message, and none does harm."""

from __future__ import annotations

import json
import random

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings

GOOD = {
    "/api/turn": {
        "question": "What is Faust?",
        "history": [{"question": "a", "answer": "b"}],
        "filter": {"set": ["books"]},
    },
    "/v1/chat/completions": {"model": "talk", "messages": [{"role": "user", "content": "What is Faust?"}]},
    "/": {"context": "Goethe wrote Faust.", "qas": [{"qid": "q", "question": "Who?"}]},
}
WRONG = [
    None,
    True,
    3,
    -1.5,
    1e400,
    "",
    "\0",
    [],
    {},
    [[]],
    {"": {}},
    ["x"] * 50,
    "x" * 5000,
    {"$ref": "#"},
    [None],
    "\ud800",
]


def bodies(number):
    """(path, body) of hostile requests, the same every time."""
    chance = random.Random(7)
    for _ in range(number):
        path = chance.choice(list(GOOD))
        data = json.dumps(GOOD[path]).encode()
        kind = chance.randrange(7)
        if kind == 0:  # cut off
            yield path, data[: chance.randrange(1, len(data))]
        elif kind == 1:  # a byte of it is another
            place = chance.randrange(len(data))
            yield path, data[:place] + bytes([chance.choice([0, 0x22, 0x7B, 0xFF, 0xC0])]) + data[place + 1 :]
        elif kind == 2:  # nested
            yield path, b'{"question":' * chance.randrange(1100, 9000)
        elif kind == 3:
            yield path, b"[" * chance.randrange(1100, 90_000) + b"]" * 10
        elif kind == 4:  # a field of another type
            field, wrong = chance.choice(list(GOOD[path])), chance.choice(WRONG)
            yield path, json.dumps({**GOOD[path], field: wrong}).encode("utf-8", "surrogatepass")
        elif kind == 5:  # none
            yield path, json.dumps(chance.choice(WRONG)).encode("utf-8", "surrogatepass")
        else:  # noise
            yield path, chance.randbytes(chance.randrange(400))


@pytest.mark.parametrize("count", [50, pytest.param(1000, marks=pytest.mark.slow)])
def test_hostile_bodies(make_client, talk, qa, count):
    client = make_client({"talk": talk, "reading": qa.pipeline})
    refused = 0
    for path, body in bodies(count):
        reply = client.post(path, content=body, headers={"Content-Type": "application/json"})
        if reply.status_code != 200:  # a byte that changed may leave a good body, and noise a question
            assert 400 <= reply.status_code < 500, (path, body[:200], reply.text)
            assert len(reply.json()["error"]["message"]) > 10
            refused += 1
    assert refused > 0.8 * count
    assert client.post("/api/turn", json={"question": "What is Faust?"}).json()["answer"]["kind"] == "answer"


@pytest.mark.slow
def test_requests_made_from_the_schema_meet_no_fault_of_ours(make_app):
    schema = schemathesis.openapi.from_asgi("/openapi.json", make_app(hosts=["testserver"]))
    asked = []
    for operation in schema.get_all_operations():

        @settings(max_examples=6, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
        @given(operation.ok().as_strategy())
        def keeps_its_word(case):
            reply = case.call()
            assert reply.status_code < 500, reply.text
            asked.append(case.path)

        keeps_its_word()
    assert len(set(asked)) > 8
