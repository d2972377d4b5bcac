"""The examples for others' servers: hayhooks itself with our wrappers, and Open WebUI's pipe against our server."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

CURIE = "Who was Marie Curie?"
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
    body = {"model": "talk", "messages": [{"role": "user", "content": CURIE}], "stream": True}
    text = hayhooks.post("/v1/chat/completions", json=body).text
    assert "Marie Curie was a Polish physicist." in text and '"type":"source"' in text.replace(" ", "")


# Among all tests, hayhooks answers 404 here now and then: its second wrapper is not deployed, for a reason not found.
@pytest.mark.slow
def test_hayhooks_reads_a_context(hayhooks, line):
    reply = hayhooks.post("/mrqa/run", json={"context": line["context"], "qas": line["qas"]})
    assert reply.status_code == 200, reply.text
    assert set(reply.json()["result"]) == {"q1", "q2"} and reply.json()["result"]["q2"] in line["context"]


def test_open_webui_s_pipe(live, monkeypatch):
    monkeypatch.setenv("MY_KEY", "k" * 16)
    spec = importlib.util.spec_from_file_location("convqa_pipe", EXAMPLES / "open_webui" / "convqa_pipe.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    pipe, events = module.Pipe(), []

    async def emit(event):
        events.append(event)

    def ask(*said):
        messages = [{"role": ("user", "assistant")[index % 2], "content": text} for index, text in enumerate(said)]
        return asyncio.run(pipe.pipe({"messages": messages}, {"email": "a@example.org"}, emit))

    pipe.valves.address = live(keys={"mine": {"env": "MY_KEY"}})
    assert "Authorization: Bearer KEY" in ask(CURIE)
    pipe.valves.key = "k" * 16
    text = ask("Who was Johann Wolfgang von Goethe?")
    assert "[1]" in text and "Sources" not in text
    assert events[0]["type"] == "source" and events[0]["data"]["document"][0] in text.replace(" [1]", "")
    assert "Frankfurt" in ask("Who was Johann Wolfgang von Goethe?", text, "Where was he born?")
    json.dumps(events)
