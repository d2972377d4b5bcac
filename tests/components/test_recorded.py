"""Rankings and rewrites of other systems, from their files into a run."""

from __future__ import annotations

import json

import pytest

from convqa.components.retrievers.recorded import RecordedRetriever as Retriever
from convqa.components.rewriters.recorded import RecordedRewriter as Rewriter
from convqa.domain import Exchange, Passage, Query, Rankings, Rewrite, Rewrites, Turn, TurnId, Turns
from convqa.errors import InputError
from convqa.indexing import collection_of_passages
from convqa.metrics.trec import run_lines

PASSAGES = [Passage("Types-of-cheese:1", "Brie."), Passage("http://a/b%20c_p1", "Gouda."), Passage("c", "Milk.")]
IDS = (TurnId(1, 1), TurnId(1, 2), TurnId(2, 1))
TURNS = Turns(tuple(Turn(id, f"question {id.conversation} {id.number}", (Exchange("q", "a"),)) for id in IDS))
REWRITES = Rewrites(tuple(Rewrite.unchanged(turn.question) for turn in TURNS))
RANKINGS = {"1_1": {"Types-of-cheese:1": 3.0, "http://a/b%20c_p1": 2.5, "unknown": 1.0}, "1_2": {"c": 1.0}}


@pytest.fixture
def collection(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return collection_of_passages(PASSAGES)


def ranked(path, collection, **options) -> Rankings:
    station = Retriever(str(path), collection, **options)
    station.warm_up()
    return station.run(TURNS, REWRITES)["rankings"]


def as_trec(path):
    path.write_text("".join(line for turn, scores in RANKINGS.items() for line in run_lines(turn, scores, "other run")))
    return path


def as_json(path):
    records = [{"Conversation_no": 1, "Turn_no": int(turn[2:]), "Model_passages": scores} for turn, scores in
               RANKINGS.items()]  # fmt: skip
    path.write_text(json.dumps(records))
    return path


@pytest.mark.parametrize("write", [as_trec, as_json])
def test_rankings_come_back_with_their_texts(write, tmp_path, collection, caplog):
    first, second, third = ranked(write(tmp_path / "run"), collection)
    assert [(hit.id, hit.score) for hit in first.hits] == list(RANKINGS["1_1"].items())
    assert [hit.passage for hit in first.hits] == [PASSAGES[0], PASSAGES[1], None]
    assert [hit.id for hit in second.hits] == ["c"]
    assert not third.hits
    assert "turns of a batch that are missing and have empty rankings: 1" in caplog.text


def test_depth_and_turns_that_ask_nothing(tmp_path, collection):
    path = as_trec(tmp_path / "run")
    assert [len(ranking.hits) for ranking in ranked(path, collection, top_k=1)] == [1, 1, 0]
    silent = Rewrites(tuple(Rewrite("", ()) for _ in TURNS))
    assert not any(ranking.hits for ranking in Retriever(str(path), collection).run(TURNS, silent)["rankings"])


def test_topics_of_one_turn_may_be_named_alone(tmp_path, collection):
    (tmp_path / "run").write_text("2 Q0 c 1 4.5 mine\n")
    assert [len(ranking.hits) for ranking in ranked(tmp_path / "run", collection)] == [0, 0, 1]


def test_true_passages_are_a_ranking_too(tmp_path, collection):
    truth = [{"Conversation_no": 1, "Turn_no": 1, "Truth_passages": ["c", "Types-of-cheese:1"]}]
    (tmp_path / "ground-truth.json").write_text(json.dumps(truth))
    first, second, _ = ranked(tmp_path / "ground-truth.json", collection)
    assert ([hit.id for hit in first.hits], second.hits) == (["c", "Types-of-cheese:1"], ())


@pytest.mark.parametrize("field", ["Model_rewrite", "Question"])
def test_rewrites_come_back_and_others_keep_their_question(field, tmp_path):
    records = [{"Conversation_no": 1, "Turn_no": 1, field: "Who?"}, {"Conversation_no": 1, "Turn_no": 2, field: " "}]
    (tmp_path / "run.json").write_text(json.dumps(records))
    station = Rewriter(str(tmp_path / "run.json"))
    first, second, third = station.run(TURNS)["rewrites"]
    assert (first.text, first.queries, first.notes) == ("Who?", (Query("Who?"),), ())
    assert (second.text, third.text, third.notes) == ("question 1 2", "question 2 1", ("not recorded",))


def test_another_content_is_another_identity(tmp_path):
    path = as_json(tmp_path / "run.json")
    before = Retriever(str(path)).identity()
    assert Rewriter(str(path)).identity() == before
    path.write_text("[]")
    assert Retriever(str(path)).identity() != before


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("1_1 Q0 a 1 2.0", "line 1: expected TURN Q0 PASSAGE RANK SCORE TAG, separated by"),
        ("1_1 Q0 a 1 2.0 x\n1_1 Q0 b 1 nan x", "line 2"),
        ('[{"Turn_no": "1"}]', "record 0: Turn_no: expected a whole number, got '1'"),
        (
            '[{"Conversation_no": 1, "Turn_no": 1, "Model_passages": [1]}]',
            r"record 0: Model_passages: expected .*, got \[1\]",
        ),
        ('{"a": 1}', "expected a TREC run, a run.json, or a JSON array"),
        ("", "empty"),
    ],
)
def test_mistakes_are_named(content, says, tmp_path):
    path = tmp_path / "run"
    path.write_text(content)
    with pytest.raises(InputError, match=says):
        Retriever(str(path)).warm_up()
    with pytest.raises(InputError, match="no such file"):
        Rewriter(str(tmp_path / "gone")).warm_up()
