"""A pipeline with a language model behind the server: its answers, and what a client is told when it is away."""

from __future__ import annotations

import json
import socket

from convqa.server.app import load_pipelines
from convqa.server.config import ServedPipeline, ServerConfig

QUESTION = "Who wrote Faust?"


def served(collection, llm):
    """The pipeline talk as ``convqa serve`` loads it, with the model of a file."""
    config = ServerConfig(collection=collection, pipelines={"talk": ServedPipeline(llm=llm)})
    return load_pipelines(config, {})["talk"]


def test_a_model_of_the_file_answers_and_one_that_is_away_is_stood_in_for(
    make_client, collection, openai_server, tmp_path, talk
):
    server = openai_server(lambda prompt, number: "The play Faust is by Johann Wolfgang von Goethe [1].")
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        names = {"model": server.url, "away": f"http://127.0.0.1:{held.getsockname()[1]}"}
        pipelines = {"talk": talk}
        for name, url in names.items():
            file = tmp_path / f"{name}.yaml"
            file.write_text(f"{{url: '{url}', model: m}}")
            pipelines[name] = served(collection, str(file))
        client = make_client(pipelines)
        replies = {name: client.post("/api/turn", json={"question": QUESTION, "pipeline": name}).json()
                   for name in pipelines}  # fmt: skip
    assert replies["model"]["answer"]["text"] == "The play Faust is by Johann Wolfgang von Goethe."
    assert replies["away"]["answer"]["text"] == replies["talk"]["answer"]["text"]
    assert replies["away"]["answer"]["score"] == replies["talk"]["answer"]["score"]
    said = "The language model's server does not answer. Only the passages were asked."
    assert {name: reply["caveat"] for name, reply in replies.items()} == {"talk": "", "model": "", "away": said}


def test_a_chat_client_reads_the_note_even_where_nothing_is_answered(make_client, collection, openai_server, tmp_path):
    file = tmp_path / "failing.yaml"
    file.write_text(f"{{url: '{openai_server(lambda prompt, number: 500).url}', model: m}}")
    client = make_client({"talk": served(collection, str(file))})
    asked = {QUESTION: "Faust is a tragic play", "Why does the tower of Pisa lean over the director?": "No answer: "}
    for question, begins in asked.items():
        body = {"model": "talk", "messages": [{"role": "user", "content": question}]}
        text = client.post("/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"]
        assert text.startswith(begins) and "server error 500. " in text.split("\n\n")[-1]


def test_sentences_are_sent_while_the_model_writes(make_client, collection, openai_server, tmp_path):
    """To the page and to chat clients, marked as in the answer, and with the tokens that its server counted."""
    reply = "The play Faust is by Johann Wolfgang von Goethe [1]. He sold it to Napoleon. It is a tragic play [1]."
    server = openai_server(lambda prompt, number: reply)
    file = tmp_path / "model.yaml"
    file.write_text(f"{{url: '{server.url}', model: m}}")
    client = make_client({"talk": served(collection, str(file))})
    headers = {"Accept": "text/event-stream"}
    events = client.post("/api/turn", json={"question": QUESTION}, headers=headers).text.replace("\r", "").split("\n\n")
    parts = [json.loads(event.split("data: ")[1]) for event in events if event.startswith("event: partial")]
    assert [len(part["sentences"]) for part in parts] == [1, 2]
    answer = next(json.loads(event.split("data: ")[1]) for event in events if event.startswith("event: answer"))
    shown = answer["answer"]["sentences"]
    assert parts[-1]["sentences"] == shown[:2] and [one["supported"] for one in shown][1] is False
    assert shown[1]["mark"].startswith("not found in the passages") and answer["usage"] == [1, 1]
    body = {"model": "talk", "messages": [{"role": "user", "content": "Who has written the play Faust?"}]}
    asked = {**body, "stream": True, "stream_options": {"include_usage": True}}
    lines = client.post("/v1/chat/completions", json=asked).text.splitlines()
    chunks = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    whole = client.post("/v1/chat/completions", json=body).json()
    deltas = [choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"]]
    assert "".join(deltas) == whole["choices"][0]["message"]["content"] and len([text for text in deltas if text]) >= 3
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant" and len({chunk["id"] for chunk in chunks}) == 1
    assert "Napoleon. (not found in the passages" in "".join(deltas)
    assert chunks[-1]["usage"]["total_tokens"] == 2
