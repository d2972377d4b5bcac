"""Turns over HTTP: the same answers as in Python, kept conversations, events, passages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from convqa.qa import QA
from convqa.server.access import Caller
from tests.server.conftest import PASSAGES


def ask(client, question, **fields):
    reply = client.post("/api/turn", json={"question": question, **fields})
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_a_conversation_is_answered_as_in_python(client, talk):
    talked = QA(talk).conversation()
    id = None
    for question in ("Who was Johann Wolfgang von Goethe?", "Where was he born?", "thanks", "Who was Marie Curie?"):
        expected, found = talked.ask(question), ask(client, question, **({"conversation": id} if id else {}))
        id = found["conversation"]
        assert found["answer"]["text"] == expected.answer.shown
        added = [list(place) for place in expected.added]
        assert found["rewrite"] == {"text": expected.rewrite.text, "added": added, "act": expected.rewrite.act}
        assert [hit["id"] for hit in found["ranking"]] == [hit.id for hit in expected.ranking.hits]
        assert found["number"] == expected.id.number
    assert found["error"] is None and set(found["timings"]) == set(expected.timings)


def test_offsets_are_code_points(client):
    found = ask(client, "What was added to Unicode 6.1?")
    text = dict(client.get("/api/passages/emoji").json())["text"]
    cited = found["citations"][0]
    assert cited["quote"] == text[cited["start"] : cited["end"]] != ""
    for sentence in found["answer"]["sentences"]:
        assert found["answer"]["text"][sentence["start"] : sentence["end"]] == sentence["text"]
        assert {1} <= set(sentence["citations"])


def test_what_is_not_answered_names_the_nearest(client):
    found = ask(client, "What did Marie Curie say about the tax on sugar in 1765?")
    assert found["answer"]["kind"] == "none" and found["answer"]["reason"]
    passage = {id: text for id, text, _ in PASSAGES}["curie"]
    for near in (found["answer"]["nearest"][0], found["answer"]["withheld"]):
        assert near["title"] == "Curie" and near["text"] == passage[near["start"] : near["end"]]
    kept = client.get(f"/api/conversations/{found['conversation']}").json()["turns"][0]
    assert kept["answer"] == found["answer"]


def test_sentences_that_an_answer_does_not_quote(client):
    found = ask(client, "Who was Johann Wolfgang von Goethe?")
    quoted = {(citation["passage"], citation["start"]) for citation in found["citations"]}
    others = {(other["id"], other["start"]) for other in found["answer"]["others"]}
    assert others and quoted and not quoted & others
    kept = client.get(f"/api/conversations/{found['conversation']}").json()["turns"][0]
    assert kept["answer"]["others"] == found["answer"]["others"]


def test_events_come_as_they_are_made(client):
    body = {"question": "Who was Marie Curie?"}
    with client.stream("POST", "/api/turn", json=body, headers={"Accept": "text/event-stream"}) as reply:
        assert reply.headers["content-type"].startswith("text/event-stream")
        lines = [line for line in reply.iter_lines() if line and not line.startswith(":")]
    names = [line.removeprefix("event: ") for line in lines[::2]]
    data = [json.loads(line.removeprefix("data: ")) for line in lines[1::2]]
    assert names == ["rewrite", "passages", "answer"]
    assert data[0] == data[2]["rewrite"] and data[1] == {"ranking": data[2]["ranking"]}
    assert client.get(f"/api/conversations/{data[2]['conversation']}").json()["turns"] == [data[2]]


def test_a_history_that_the_client_brings(own_client):
    said = [{"question": "Who was Johann Wolfgang von Goethe?", "answer": "A German poet."}]
    found = ask(own_client, "Where was he born?", history=said)
    assert "Frankfurt" in found["answer"]["text"] and found["conversation"] is None
    assert own_client.get("/api/conversations").json() == {"conversations": []}


def test_conversations_are_listed_read_and_deleted(own_client):
    id = ask(own_client, "Who was Johann Wolfgang von Goethe?")["conversation"]
    second = ask(own_client, "Where was he born?", conversation=id)
    other = ask(own_client, "Who was Marie Curie?")["conversation"]
    listed = own_client.get("/api/conversations").json()["conversations"]
    assert [(one["id"], one["turns"]) for one in listed] == [(other, 1), (id, 2)]
    assert own_client.get("/api/conversations", params={"limit": 1}).json()["conversations"] == listed[:1]
    assert own_client.get("/api/conversations", params={"limit": 0}).status_code == 422
    read = own_client.get(f"/api/conversations/{id}").json()
    assert read["title"] == "Who was Johann Wolfgang von Goethe?" and read["turns"][1] == second

    assert own_client.delete(f"/api/conversations/{id}").status_code == 204
    assert own_client.delete(f"/api/conversations/{id}").status_code == 404
    assert own_client.get(f"/api/conversations/{id}").status_code == 404
    assert own_client.post("/api/turn", json={"question": "And?", "conversation": id}).status_code == 404


def test_a_conversation_stays_with_its_pipeline(make_client, talk):
    client = make_client({"first": talk, "second": talk})
    id = ask(client, "Who was Marie Curie?", pipeline="second")["conversation"]
    assert ask(client, "What did she win?", conversation=id)["pipeline"] == "second"
    assert ask(client, "And when?", conversation=id, pipeline="first")["pipeline"] == "first"


def test_conversations_stay_with_their_collection(make_client, talk, collection, tmp_path, monkeypatch):
    from convqa.indexing import index_sources
    from convqa.pipeline.load import load
    from convqa.qa import ready

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "passages.jsonl").write_text('{"id": "a", "text": "Ada Lovelace was a mathematician."}')
    index_sources([tmp_path / "passages.jsonl"], str(tmp_path / "other"))
    other = ready(load("talk"), str(tmp_path / "other"))
    client = make_client(conversations=None)
    id = ask(client, "Who was Marie Curie?")["conversation"]
    elsewhere = make_client({"talk": other}, conversations=None)
    assert elsewhere.get("/api/conversations").json() == {"conversations": []}
    assert elsewhere.get(f"/api/conversations/{id}").status_code == 404
    assert elsewhere.post("/api/turn", json={"question": "When?", "conversation": id}).status_code == 404
    # Another server of the same collection, whatever it is called there, goes on with it.
    monkeypatch.chdir(Path(collection).parent)
    again = make_client({"talk": ready(load("talk"), f"./{Path(collection).name}/")}, conversations=None)
    assert ask(again, "What did she win?", conversation=id)["number"] == 2
    assert len(list((tmp_path / "data" / "convqa").glob("*.sqlite"))) == 2


def test_the_file_of_conversations_is_for_its_owner_alone(own_client, tmp_path):
    ask(own_client, "Who was Marie Curie?")
    assert {file.stat().st_mode & 0o777 for file in tmp_path.glob("conversations.sqlite*")} == {0o600}


def test_passages(client):
    assert client.get("/api/passages/faust").json() == {
        "id": "faust",
        "text": "Faust is a tragic play by Johann Wolfgang von Goethe. It was published in 1808.",
        "title": "Faust",
        "url": "",
        "meta": {"set": "books"},
        "units": [],
    }
    reply = client.get("/api/passages/none/of/these")
    assert reply.status_code == 404 and reply.json()["error"]["message"] == "There is no such passage."


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({}, 422, "question: is missing"),
        ({"question": ""}, 422, "question: is empty."),
        ({"question": " \n"}, 422, "question: is empty."),
        ({"question": "a\0b"}, 422, "NUL"),
        ({"question": 3}, 422, "question: expected a string, got 3"),
        ({"question": "x" * 4001}, 422, "at most 4000"),
        ({"question": "x", "filters": {}}, 422, "filters: unknown field"),
        ({"question": "x", "filter": {"set": "books"}}, 422, "filter.set: expected a list, got 'books'"),
        ({"question": "x", "filter": {"set": [None]}}, 422, "expected a string or a whole number or a number or"),
        (
            {"question": "x", "history": [{"question": "y"}] * 1001},
            422,
            "history: expected at most 1000 items, got 1001.",
        ),
        ({"question": "x", "pipeline": "tlak"}, 404, "expected one of talk"),
        ({"question": "x", "conversation": "nobody's"}, 404, "no such conversation"),
        ({"question": "x", "conversation": "a", "history": []}, 422, "got both"),
        ({"question": "x", "history": [{"question": "y", "status": "lost"}]}, 422, "history[0].status"),
    ],
)
def test_mistakes_are_said(client, body, status, said):
    reply = client.post("/api/turn", json=body)
    assert reply.status_code == status
    assert said in reply.json()["error"]["message"]


def test_pipelines_are_described(make_client, talk):
    client = make_client({"talk": talk}, served={"talk": {"examples": ["Who was Marie Curie?"]}})
    (described,) = client.get("/api/pipelines").json()["pipelines"]
    assert described["id"] == "talk" and described["collection"] == "library" and described["passages"] == 6
    assert described["examples"] == ["Who was Marie Curie?"]


def test_a_turn_that_another_overtook(client, monkeypatch):
    id = ask(client, "Who was Marie Curie?")["conversation"]
    ask(client, "What did she win?", conversation=id)
    kept = client.app.state.conversations
    earlier = kept.turns(Caller(""), id)[:1]
    monkeypatch.setattr(type(kept), "turns", lambda *_: earlier)  # as if the second turn were not there yet
    reply = client.post("/api/turn", json={"question": "When?", "conversation": id})
    assert reply.status_code == 409 and "has changed" in reply.json()["error"]["message"]


def test_a_turn_that_fails_is_said_without_its_details(make_client, talk, monkeypatch):
    from convqa.components.readers.units import UnitsReader

    def failing(*_):
        raise ValueError("/a/path of the server's")

    monkeypatch.setattr(UnitsReader, "read_batch", failing)
    found = ask(make_client(), "Who was Marie Curie?")
    assert found["error"] == {"stage": "reader", "message": "The reader failed to process this question."}
    assert found["answer"] is None and found["citations"] == []


def test_a_question_is_asked_again_in_place_of_what_followed(client):
    id = ask(client, "Who was Johann Wolfgang von Goethe?")["conversation"]
    ask(client, "Where was he born?", conversation=id)
    ask(client, "thanks", conversation=id)
    again = ask(client, "Where was Marie Curie born?", conversation=id, number=2)
    assert again["number"] == 2
    kept = client.get(f"/api/conversations/{id}").json()["turns"]
    assert [turn["question"] for turn in kept] == ["Who was Johann Wolfgang von Goethe?", "Where was Marie Curie born?"]
    reply = client.post("/api/turn", json={"question": "x", "conversation": id, "number": 4})
    assert reply.status_code == 422 and "has 2 turns, got 4" in reply.json()["error"]["message"]
    assert client.post("/api/turn", json={"question": "x", "number": 1}).status_code == 422


def test_a_question_as_typed_is_understood_without_the_conversation(client):
    id = ask(client, "Who was Johann Wolfgang von Goethe?")["conversation"]
    completed = ask(client, "Where was he born?", conversation=id)
    assert "Goethe" in completed["rewrite"]["text"]
    typed = ask(client, "Where was he born?", conversation=id, number=2, as_typed=True)
    assert typed["rewrite"] == {"text": "Where was he born?", "added": [], "act": ""}
    assert "Goethe" in ask(client, "What did Goethe write?", conversation=id)["rewrite"]["text"]


def test_a_conversation_is_renamed(client):
    id = ask(client, "Who was Marie Curie?")["conversation"]
    assert client.patch(f"/api/conversations/{id}", json={"title": "Physicists"}).status_code == 204
    assert client.get("/api/conversations").json()["conversations"][0]["title"] == "Physicists"
    assert client.patch(f"/api/conversations/{id}", json={"title": ""}).status_code == 422
    assert client.patch("/api/conversations/none", json={"title": "x"}).status_code == 404


def test_conversations_are_deleted_after_their_days(make_client, tmp_path):
    fields = {"conversations": {"file": str(tmp_path / "kept.sqlite"), "days": 30}}
    client = make_client(**fields)
    old, new = (ask(client, "Who was Marie Curie?")["conversation"] for _ in range(2))
    client.app.state.conversations._change("UPDATE conversations SET updated = '2020-01-01' WHERE id = ?", old)
    assert [one["id"] for one in client.get("/api/conversations").json()["conversations"]] == [new]
    assert client.get(f"/api/conversations/{old}").status_code == 404
