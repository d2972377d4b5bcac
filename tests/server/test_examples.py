"""The examples for others' servers: hayhooks itself with our wrappers, and Open WebUI's pipe against our server."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

CURIE = "Who was Marie Curie?"
TWO_SPANS = "Who was Johann Wolfgang von Goethe and where was he born?"
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def hayhooks(collection):
    """Hayhooks' own server with both wrappers deployed."""
    from hayhooks.server.app import create_app
    from hayhooks.settings import settings

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONVQA_COLLECTION", collection)
        patch.setattr(settings, "pipelines_dir", str(EXAMPLES / "hayhooks"))
        with TestClient(create_app()) as client:
            yield client


def test_hayhooks_answers_a_turn(hayhooks):
    said = {"question": "Who was Johann Wolfgang von Goethe?", "answer": "A poet. [1]"}
    asked = {"question": "Where was he born?", "history": [said]}
    reply = hayhooks.post("/talk/run", json=asked)
    assert reply.status_code == 200, reply.text
    found = reply.json()["result"]
    assert "Frankfurt" in found["answer"]["text"] and found["citations"][0]["passage"] == "goethe"


def test_hayhooks_answers_chats_with_sources(hayhooks):
    parts = [{"type": "text", "text": TWO_SPANS}]
    text, events = streamed(hayhooks, [{"role": "user", "content": parts}])
    assert "[1]" in text and "[2]" in text
    assert_marks_open_their_quotes(text, [event["data"] for event in events])


def test_hayhooks_runs_errands_without_a_search(hayhooks):
    prompt = f'### Task:\nGenerate a title.\nJSON format: {{ "title": "x" }}\n<chat_history>\nUSER: {CURIE}'
    text, events = streamed(hayhooks, [{"role": "user", "content": prompt}])
    assert json.loads(text) == {"title": CURIE} and events == []


def streamed(hayhooks, messages):
    """The text and Open WebUI's events of a streamed chat."""
    body = {"model": "talk", "messages": messages, "stream": True}
    lines = hayhooks.post("/v1/chat/completions", json=body).text.splitlines()
    chunks = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    deltas = [choice["delta"].get("content") or "" for chunk in chunks for choice in chunk.get("choices") or []]
    return "".join(deltas), [chunk["event"] for chunk in chunks if "event" in chunk]


def assert_marks_open_their_quotes(text, sources):
    """As Open WebUI does: it shows one source for each address, and mark [n] opens the n-th."""
    shown = {source["metadata"][0]["source"]: source["document"][0] for source in sources}
    quotes = list(shown.values())
    marks = re.findall(r"([^.]+\.) \[(\d+)\]", text.partition("\n\n")[0])
    assert len(marks) > 1
    for sentence, number in marks:
        assert quotes[int(number) - 1] == sentence.strip()


# Among all tests, hayhooks answers 404 here now and then: its second wrapper is not deployed, for a reason not found.
@pytest.mark.slow
def test_hayhooks_reads_a_context(hayhooks, line):
    reply = hayhooks.post("/mrqa/run", json={"context": line["context"], "qas": line["qas"]})
    assert reply.status_code == 200, reply.text
    assert set(reply.json()["result"]) == {"q1", "q2"} and reply.json()["result"]["q2"] in line["context"]


@pytest.fixture
def pipe():
    spec = importlib.util.spec_from_file_location("convqa_pipe", EXAMPLES / "open_webui" / "convqa_pipe.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Pipe()


@pytest.fixture
def ask_pipe(pipe):
    """``ask_pipe(*said)``: the parts of the reply, and the events."""

    def ask(*said):
        events = []

        async def emit(event):
            events.append(event)

        async def parts():
            messages = [{"role": ("user", "assistant")[index % 2], "content": text} for index, text in enumerate(said)]
            body = {"model": "convqa_pipe.talk", "messages": messages}
            return [part async for part in pipe.pipe(body, {"email": "zoë@example.org"}, emit)]

        return asyncio.run(parts()), events

    return ask


def test_open_webui_s_pipe(live, monkeypatch, pipe, ask_pipe):
    monkeypatch.setenv("MY_KEY", "k" * 16)
    pipe.valves.address = live(keys={"mine": {"env": "MY_KEY"}}) + "/v1/"
    (refusal,), _ = ask_pipe(CURIE)
    assert "Authorization: Bearer KEY" in refusal and pipe.address in refusal
    assert pipe.address in asyncio.run(pipe.pipes())[0]["name"]
    pipe.valves.key = "k" * 16
    assert asyncio.run(pipe.pipes()) == [{"id": "talk", "name": "convqa: talk"}]
    parts, events = ask_pipe(TWO_SPANS)
    text = "".join(parts)
    assert len(parts) > 1 and "Sources" not in text
    assert_marks_open_their_quotes(text, [event["data"] for event in events if event["type"] == "source"])
    statuses = [event["data"] for event in events if event["type"] == "status"]
    assert "Searching" in [status["description"] for status in statuses]
    assert [status["done"] for status in statuses] == [False] * (len(statuses) - 1) + [True]
    assert "Frankfurt" in "".join(ask_pipe("Who was Johann Wolfgang von Goethe?", text, "Where was he born?")[0])


def test_open_webui_s_pipe_names_an_address_without_a_server(pipe, ask_pipe):
    pipe.valves.address = "http://127.0.0.1:9"
    (problem,), events = ask_pipe(CURIE)
    assert "http://127.0.0.1:9" in problem and events[-1]["data"]["done"]
    assert "http://127.0.0.1:9" in asyncio.run(pipe.pipes())[0]["name"]
