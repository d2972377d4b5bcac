"""The decision, fitted to small sets of conversations over a real collection."""

from __future__ import annotations

import json

import pytest

from convqa.components.deciders.logistic import load_decision
from convqa.errors import InputError
from convqa.models import load_encoder
from convqa.training.config import load
from convqa.training.decision import SignalRow, answerable, chosen, fit, surely
from convqa.training.train import Bench, train

NAMES = ["Faust", "Hamlet", "Emma", "Ulysses", "Dracula", "Medea", "Candide", "Middlemarch"]


@pytest.fixture
def data(tmp_path):
    """A set of a turn a conversation: every other question is of a book that no passage is about."""
    folder = tmp_path / "data" / "books"
    folder.mkdir(parents=True)
    passages = [{"id": name, "text": f"{name} was written by author number {n}."} for n, name in enumerate(NAMES)]
    (folder / "passages.jsonl").write_text("\n".join(map(json.dumps, passages)))
    asked, truth = [], []
    for number in range(1, 33):
        known = number // 4 % 2 == 0
        name = NAMES[number % 8]
        question = f"Who has written {name}?" if known else f"Which author has a deep cold lake near {name}burg?"
        turn = {"Conversation_no": number, "Turn_no": 1, "Question": question}
        asked.append(turn)
        truth.append(turn | {"Truth_rewrite": question, "Truth_answer": "x", "Truth_passages": [name] if known else []})
    (folder / "questions.json").write_text(json.dumps(asked))
    (folder / "ground-truth.json").write_text(json.dumps(truth))
    return tmp_path / "data"


def test_a_decision_is_fitted_reported_and_loaded(data, tmp_path):
    settings = load("decision", None, {"conversations": ["books", "books over books"]})
    model, scores = train(settings, Bench(tmp_path / "out", data))
    decision = load_decision(str(model / "decision.yaml"))
    assert decision.encoder == load_encoder("encoder").family
    assert decision.signals["word_share"].weight > 0
    assert scores["report"]["turns"] == 32
    assert scores["report"]["AUC"] > 0.7


def test_what_cannot_be_fitted_is_named(data, tmp_path):
    with pytest.raises(InputError, match=r"none/ground-truth\.json"):
        train(load("decision", None, {"conversations": ["none"]}), Bench(tmp_path / "a", data))
    with pytest.raises(InputError, match="with and without an answer"):
        train(load("decision", None, {"conversations": ["books over books"]}), Bench(tmp_path / "b", data))


def rows(*parts):
    return [SignalRow(name, 2, can, {"word_share": near, "cosine": None}) for name, can, near in parts]


def test_each_set_counts_alike_and_what_is_missing_is_the_mean():
    few = rows(("a", True, 0.9), ("a", False, 0.1))
    many = few + 4 * rows(("b", True, 0.8), ("b", False, 0.3), ("b", True, None))
    decision = fit(few, ["word_share"])
    assert decision.weigh({"word_share": 0.9}) > 0.5 > decision.weigh({"word_share": 0.1})
    near = fit(many, ["word_share"]).signals["word_share"]
    means = (0.9 + 0.1) / 2, (0.8 + 0.3) / 2
    assert near.mean == pytest.approx((2 * means[0] / 2 + 2 * means[1] / 3) / (2 / 2 + 2 / 3), abs=1e-3)


def test_thresholds():
    some = rows(*(("a", True, step / 10) for step in range(10)), ("a", False, 0.25))
    assert chosen(some, lambda row: row.signals["word_share"], 0.1) == 0.1
    assert surely([(0.2, False), (0.5, True), (0.9, True)], 1.0) == 0.21


def test_which_turns_have_an_answer():
    assert [answerable({"Truth_passages": some}) for some in ([], ["p"])] == [False, True]
    assert answerable({"Truth_passages": [], "Answerability": ["PARTIAL"]}) is True
    assert answerable({"Truth_passages": ["p"], "Answerability": ["UNDERSPECIFIED"]}) is None
