"""What people think of answers: kept with the turn, listed, exported, and run again."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from convqa.cli import application
from tests.server.test_turns import ask


def convqa(*arguments):
    return CliRunner().invoke(application(), [str(argument) for argument in arguments])


def rate(client, id, number, **body):
    return client.put(f"/api/conversations/{id}/turns/{number}/feedback", json=body).status_code


@pytest.fixture
def rated(client):
    """A client, and its conversation whose second answer is rated."""
    id = ask(client, "Who was Johann Wolfgang von Goethe?")["conversation"]
    ask(client, "Where was he born?", conversation=id)
    assert rate(client, id, 2, verdict="bad", comment="too short") == 204
    return client, id


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
    run = CliRunner().invoke
    file = tmp_path / "feedback.jsonl"
    done = run(
        application(), ["feedback", "export", str(file), "--conversations", str(tmp_path / "conversations.sqlite")]
    )
    assert done.exit_code == 0 and done.output == f"{file}: 1 rated turns\n", done.output
    (record,) = map(json.loads, file.read_text().splitlines())
    assert record["Context"][0] == "Who was Johann Wolfgang von Goethe?" and "poet" in record["Context"][1]
    assert (
        record["Passages"] == ["goethe"] and "Frankfurt" in record.pop("Answer") and "Goethe" in record.pop("Rewrite")
    )
    assert {name: record[name] for name in ("Conversation_no", "Turn_no", "Question", "Verdict", "Comment")} == {
        "Conversation_no": id, "Turn_no": 2, "Question": "Where was he born?", "Verdict": "bad", "Comment": "too short",
    }  # fmt: skip
    done = convqa("run", file, tmp_path / "out", "--collection", collection, "--quiet")
    assert done.exit_code == 0, done.output
    (turn,) = json.loads((tmp_path / "out" / "run.json").read_text())
    assert turn["Turn_no"] == 2 and "Goethe" in turn["Model_rewrite"] and "Frankfurt" in turn["Model_answer"]


def test_an_export_says_what_is_missing(tmp_path):
    run = CliRunner().invoke
    assert run(application(), ["feedback", "export", str(tmp_path / "f.jsonl")]).exit_code == 2
    missing = str(tmp_path / "none.sqlite")
    assert (
        run(application(), ["feedback", "export", str(tmp_path / "f.jsonl"), "--conversations", missing]).exit_code == 2
    )
    assert not (tmp_path / "none.sqlite").exists()
