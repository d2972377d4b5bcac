"""The no-answer decision: files, scores, thresholds, and what becomes of answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from convqa.components.deciders.logistic import Decision, Logistic, Signal, Weight, load_decision
from convqa.domain import (
    UNSURE,
    Answer,
    Answers,
    Citation,
    Hit,
    Passage,
    Query,
    Ranking,
    Rankings,
    Reading,
    Readings,
    Rewrite,
    Rewrites,
    Sentence,
    Span,
    Turn,
    TurnId,
    Turns,
)
from convqa.errors import InputError
from convqa.models import load_support
from convqa.places import shipped_yaml

NULL = Decision(intercept=0.0, signals={"null": Weight(mean=0.5, deviation=0.25, weight=-2.0)}, threshold=0.4)
ADA = Passage("a", "Ada wrote notes. She died in 1852.")
RANKING = Ranking((Hit("a", 2.0, ADA), Hit("b", 1.0)))
OPENING = Span("a", 0, 16, "Ada wrote notes.", 1.0)
TURN, REWRITE = Turn(TurnId(1, 1), "Who?"), Rewrite("Who wrote notes?", (Query("Who?"),))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "null.yaml"
    path.write_text(
        "intercept: 0.0\nthreshold: 0.4\nsignals: {'null': {mean: 0.5, deviation: 0.25, weight: -2.0}}\n"
        "fitted: {by: hand}\n"
    )
    return str(path)


QUOTED = Answer.of((Sentence("Ada wrote notes.", (Citation("a", 0, 16),)),), "en")


def run(decider, null, ranking=RANKING, answer=QUOTED):
    columns = Turns((TURN,)), Rewrites((REWRITE,)), Rankings((ranking,)), Answers((answer,))
    return decider.run(*columns, Readings((Reading((OPENING,), null),)))["answers"].items[0]


def test_a_score_is_the_logistic_of_how_far_signals_are_from_their_means():
    assert NULL.weigh({"null": 0.5}) == NULL.weigh({"null": None}) == NULL.weigh({}) == 0.5
    assert NULL.weigh({"null": 0.25}) == pytest.approx(0.8808, abs=1e-4)
    far = Decision(intercept=0.0, signals={"null": Weight(mean=0.0, deviation=1e-9, weight=1.0)}, threshold=0.5)
    assert 0 < far.weigh({"null": -1.0}) < far.weigh({"null": 1.0}) <= 1


def test_an_answer_below_the_threshold_is_none_with_score_and_reason(file):
    given = run(Logistic(file), 0.25)
    assert (given.kind, given.score) == ("answer", pytest.approx(0.8808, abs=1e-4))
    refused = run(Logistic(file), 0.75)
    assert (refused.kind, refused.text, refused.nearest) == ("none", "", ("a", "b"))
    assert refused.score == pytest.approx(0.1192, abs=1e-4)
    assert refused.reason == "the passages found do not seem to answer the question"


def test_an_answer_that_scores_too_low_to_be_sure_has_a_note(file, tmp_path):
    path = tmp_path / "sure.yaml"
    path.write_text(Path(file).read_text(encoding="utf-8") + "sure_threshold: 0.9\n", encoding="utf-8")
    assert run(Logistic(str(path)), 0.25).notes == (UNSURE,) and run(Logistic(str(path)), 0.0).notes == ()
    assert run(Logistic(str(path)), 0.75).notes == () and run(Logistic(file), 0.25).notes == ()
    assert load_decision(str(path)).identity != load_decision(file).identity


def test_the_nearest_sentence_speaks_for_an_answer(tmp_path):
    path = tmp_path / "cosine.yaml"
    path.write_text("intercept: 0.0\nthreshold: 0.5\nsignals: {cosine: {mean: 0.4, deviation: 0.2, weight: 3.0}}\n")
    member = Logistic(str(path), encoder="encoder")
    member.warm_up()
    texts = ("Ada Lovelace wrote notes on the engine.", "Bees make honey.")
    turns = tuple(Turn(TurnId(1, 1), question) for question in ("Who wrote notes on the engine?",) * 2)
    rankings = [Ranking((Hit("a", 1.0, Passage("a", text)),)) for text in texts]
    readings = [Reading((Span("a", 0, len(text), text, 1.0),), 0.0) for text in texts]
    answers = [Answer.of((Sentence(text, (Citation("a", 0, len(text)),)),), "en") for text in texts]
    rewrites = [Rewrite.unchanged(turn.question) for turn in turns]
    batches = Turns(turns), Rewrites(tuple(rewrites)), Rankings(tuple(rankings)), Answers(tuple(answers))
    about, stray = member.run(*batches, Readings(tuple(readings)))["answers"]
    assert (about.kind, stray.kind) == ("answer", "none") and about.score > 0.9 > 0.1 > stray.score
    # Without an encoder the signal counts as its mean; without a reading, or in another language, nothing is decided.
    assert Logistic(str(path)).run(*batches, Readings(tuple(readings)))["answers"].items[0].score == 0.5
    foreign = Turns(tuple(replace(turn, language="de") for turn in turns))
    for silent in (member.run(*batches), member.run(foreign, *batches[1:], Readings(tuple(readings)))):
        assert [(answer.kind, answer.score) for answer in silent["answers"]] == [("answer", None)] * 2


def test_the_threshold_can_be_set_and_0_always_answers(file):
    assert run(Logistic(file, 0.9), 0.25).kind == "none"
    always = run(Logistic(file, 0), 0.75)
    assert (always.kind, always.score) == ("answer", pytest.approx(0.1192, abs=1e-4))


def test_without_a_decision_an_answer_stays_as_it_is():
    assert run(Logistic(), 0.75) == QUOTED
    assert run(Logistic(threshold=0), 0.75) == QUOTED
    with pytest.raises(InputError, match="needs a decision"):
        Logistic(threshold=0.5)


def test_where_nothing_was_found_the_score_is_0(file):
    empty = run(Logistic(file), 0.0, Ranking(), Answer("none", "", reason="no passage was found"))
    assert (empty.kind, empty.reason, empty.score) == ("none", "no passage was found", 0.0)


def test_an_answer_is_verified_once_more(file):
    cited_elsewhere = Answer.of((Sentence("Ada.", (Citation("z", 0, 3),)),), "en")
    failure = run(Logistic(file, 0), 0.25, answer=cited_elsewhere)
    assert (failure.stage, failure.error) == ("decider", "ValueError")


def test_an_answer_that_its_quotes_do_not_support_loses_its_score():
    likely = NULL.weigh({"null": 0.25})
    for text, kept in (("Ada wrote notes.", 1.0), ("Zeppelins fly over Friedrichshafen.", 0.0)):
        answer = Answer.of((Sentence(text, (Citation("a", 0, 16),)),), "en")
        assert NULL.score({"null": 0.25}, RANKING, answer, "en") == pytest.approx(likely * kept)


def test_a_question_back_stays(file):
    asked = run(Logistic(file), 0.75, answer=Answer("question", "Which Ada?"))
    assert (asked.kind, asked.text, asked.score) == ("question", "Which Ada?", pytest.approx(0.1192, abs=1e-4))


def test_a_decision_belongs_to_a_runs_fingerprint(file, tmp_path):
    assert Logistic().identity() == {}
    assert Logistic(file, 0).identity() == {"decision": load_decision(file).identity}
    refusing = Logistic(file).identity()
    assert refusing["decision"] == load_decision(file).identity
    # So that a run that words refused is not measured by them (convqa.evaluation.compute).
    assert load_support("lexical").identity.startswith(refusing["decision's support"] + " (")
    changed = NULL.model_copy(update={"intercept": 0.1})
    assert NULL.identity == load_decision(file).identity != changed.identity


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("intercept: 0.0\nthreshold: 0.5\n", "signals: is missing"),
        ("intercept: 0.0\nthreshold: 1.5\nsignals: {}\n", "threshold: expected at most 1, got 1.5"),
        ("intercept: .nan\nthreshold: 0.5\nsignals: {}\n", "intercept: expected a finite number, got nan"),
        ("intercept: 0.0\nthreshold: 0.5\nsignals: {luck: {mean: 0, deviation: 1, weight: 1}}\n", "signals.luck"),
        (
            "intercept: 0.0\nthreshold: 0.5\nsignals: {best: {mean: 0.0, deviation: 0.0, weight: 1.0}}\n",
            "signals.best.deviation: expected more than 0, got 0.0",
        ),
        ("intercept: 0.0\nthreshold: 0.5\nsignals: {}\nsignal: 1\n", "signal: unknown field"),
        ("- a\n", "the record"),
        ("a: [\n", "is not valid YAML"),
    ],
)
def test_a_file_that_is_wrong_is_refused_by_field(tmp_path, text, problem):
    file = tmp_path / "wrong.yaml"
    file.write_text(text)
    with pytest.raises(InputError) as error:
        load_decision(str(file))
    assert str(file) in str(error.value) and problem in str(error.value)


def test_a_decision_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match="unknown name 'sentence'"):
        Logistic("sentence")
    with pytest.raises(InputError, match="cannot be read"):
        Logistic("nowhere.yaml")


@pytest.mark.parametrize("name", ["sentences", "extractive"])
def test_what_ships_knows_a_good_sign_from_a_bad_one(name):
    assert name in shipped_yaml("configs", "decisions")
    decision = load_decision(name)
    assert set(decision.signals) <= set(get_args(Signal)) and decision.fitted["reader"] == name
    good = dict.fromkeys(get_args(Signal), 1.0) | {"null": 0.0}
    bad = dict.fromkeys(get_args(Signal), 0.0) | {"null": 1.0}
    assert decision.weigh(bad) < decision.threshold < decision.weigh(good)
