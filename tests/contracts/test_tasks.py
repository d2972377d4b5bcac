"""The contract of tasks, for every one of ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from convqa.domain import Hit, Ranking, Response, TurnId
from convqa.tasks import Measure, Scores, find_task
from convqa.testing import TaskContract

OURS = {"jwhr", "mrqa", "poleval", "qrecc", "sharc", "trec"}
TESTS = Path(__file__).resolve().parents[1]


class TestJWHR(TaskContract):
    name = "jwhr"

    @pytest.fixture
    def input_dir(self):
        return TESTS / "tasks" / "jwhr" / "data" / "made-up"


class TestMRQA(TaskContract):
    name = "mrqa"
    files = {"dev.jsonl": '{"context": "Goethe", "qas": [{"qid": "q", "question": "Who?", "answers": ["Goethe"]}]}\n'}


class TestPolEval(TaskContract):
    name = "poleval"
    files = {"in.tsv": "wiki-trivia\tKto napisał Fausta?\n", "expected.tsv": "2-0\n"}
    answers = False


class TestQReCC(TaskContract):
    name = "qrecc"

    @pytest.fixture
    def input_dir(self, example):
        return example


class TestShARC(TaskContract):
    name = "sharc"

    @pytest.fixture
    def input_dir(self):
        return TESTS / "sharc" / "data" / "official"


class TestTrec(TaskContract):
    name = "trec"
    files = {"topics.json": json.dumps([{"number": 31, "turn": [{"number": 1, "raw_utterance": "What is cancer?"}]}])}
    answers = False
    scored = False


def test_every_task_has_a_contract():
    # Another test may have installed a task of its own.
    assert {contract.name for contract in TaskContract.__subclasses__()} >= OURS


@pytest.mark.parametrize(("name", "text"), [("poleval", "p\n\n"), ("trec", "1 Q0 p 1 1.0 convqa\n")])
def test_a_run_of_rankings_has_the_passages(name, text, tmp_path):
    responses = [Response(TurnId(1, 1), ranking=Ranking((Hit("p", 1.0),))), Response(TurnId(2, 1), ranking=Ranking())]
    path = find_task(name, tmp_path).write(iter(responses), tmp_path, frozenset({"rewrites", "rankings"}), ["q"] * 2)
    assert path.read_text() == text


def test_groups_and_values_go_together_when_scores_are_split():
    ids = tuple(TurnId(name, 1) for name in "abc")
    whole = Scores(Measure("F1", scale=100), ids, (1.0, 0.0, 0.5), groups=("x", "y", "y"))
    assert whole.of({ids[0], ids[2]}).by_group() == {"x": [1.0], "y": [0.5]}
    assert whole.of({ids[2]}).by_group() == {"y": [0.5]}
    assert Scores(Measure("F1"), ids, (1.0, 0.0, 0.5)).by_group() == {"": [1.0, 0.0, 0.5]}
