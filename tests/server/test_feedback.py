"""What people think of answers: kept with the turn, listed, exported, and run again."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from convqa.cli import application
from convqa.server.conversations import Conversations, file_for
from tests.server.test_turns import ask


def convqa(*arguments):
    return CliRunner().invoke(application(), [str(argument) for argument in arguments])


def rate(client, id, number, **body):
    return client.put(f"/api/conversations/{id}/turns/{number}/feedback", json=body).status_code


@pytest.fixture
def rated(own_client):
    """A client, and its conversation whose second answer is rated."""
    id = ask(own_client, "Who was Johann Wolfgang von Goethe?")["conversation"]
    ask(own_client, "Where was he born?", conversation=id)
    assert rate(own_client, id, 2, verdict="bad", comment="too short") == 204
    return own_client, id


def test_feedback_is_kept_with_the_turn(rated):
    client, id = rated
    turns = client.get(f"/api/conversations/{id}").json()["turns"]
    assert [turn["feedback"] for turn in turns] == [None, {"verdict": "bad", "comment": "too short"}]
    (listed,) = client.get("/api/conversations").json()["conversations"]
    assert (listed["turns"], listed["good"], listed["bad"]) == (2, 0, 1)
    assert rate(client, id, 2, verdict="good") == 204 and rate(client, id, 1, verdict="good") == 204
    assert client.get("/api/conversations").json()["conversations"][0]["good"] == 2
    assert rate(client, id, 2, verdict=None) == 204
    assert client.get(f"/api/conversations/{id}").json()["turns"][1]["feedback"] is None
    assert rate(client, id, 3, verdict="bad") == rate(client, "none", 1, verdict="bad") == 404
    assert rate(client, id, 1, verdict="nice") == 422


def test_feedback_goes_with_the_turn(rated):
    client, id = rated
    ask(client, "Where was Marie Curie born?", conversation=id, number=2)
    assert client.get(f"/api/conversations/{id}").json()["turns"][1]["feedback"] is None
    assert rate(client, id, 1, verdict="bad") == 204
    assert client.delete(f"/api/conversations/{id}").status_code == 204
    assert list(client.app.state.conversations.rated()) == []


def test_feedback_is_exported_as_an_input(rated, tmp_path, collection):
    _, id = rated
    file = tmp_path / "feedback.jsonl"
    done = convqa("feedback", "export", tmp_path / "conversations.sqlite", file)
    assert done.exit_code == 0 and done.output == f"{file}: 1 rated turn\n", done.output
    (record,) = map(json.loads, file.read_text().splitlines())
    assert record["Context"][0] == "Who was Johann Wolfgang von Goethe?" and "poet" in record["Context"][1]
    assert record["Passages"] == ["goethe"] and "Frankfurt" in record["Answer"] and "Goethe" in record["Rewrite"]
    assert {name: record[name] for name in ("Conversation_no", "Turn_no", "Question", "Verdict", "Comment")} == {
        "Conversation_no": id, "Turn_no": 2, "Question": "Where was he born?", "Verdict": "bad", "Comment": "too short",
    }  # fmt: skip
    done = convqa("run", file, tmp_path / "out", "--collection", collection, "--quiet")
    assert done.exit_code == 0, done.output
    (turn,) = json.loads((tmp_path / "out" / "run.json").read_text())
    assert turn["Turn_no"] == 2 and "Goethe" in turn["Model_rewrite"] and "Frankfurt" in turn["Model_answer"]


def test_an_export_of_a_collection(tmp_path, collection, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    missing = convqa("feedback", "export", collection, tmp_path / "f.jsonl")
    assert missing.exit_code == 2 and not (tmp_path / "data").exists() and not (tmp_path / "f.jsonl").exists()
    Conversations(file_for([collection])).close()
    done = convqa("feedback", "export", collection, tmp_path / "f.jsonl")
    assert done.exit_code == 0 and (tmp_path / "f.jsonl").read_bytes() == b""
