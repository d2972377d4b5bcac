"""Expected scores: what lies within their intervals, what moved, and what is no such file."""

from __future__ import annotations

import json

import pytest

from convqa.errors import InputError
from convqa.evaluation import evaluate
from convqa.evaluation.expected import moved, read_expected
from convqa.places import shipped


@pytest.fixture
def evaluation(tmp_path):
    keys = [{"Conversation_no": n, "Turn_no": 1} for n in (1, 2)]
    truth = [{**key, "Truth_rewrite": "", "Truth_answer": "a b", "Truth_passages": ["p"]} for key in keys]
    run = [{**key, "Model_passages": {"p": 1.0, "q": 2.0}, "Model_answer": "a"} for key in keys]
    (tmp_path / "ground-truth.json").write_text(json.dumps(truth))
    (tmp_path / "run.json").write_text(json.dumps(run))
    return evaluate(tmp_path, tmp_path)


def expectation(tmp_path, text):
    (tmp_path / "expected.yaml").write_text(text)
    return read_expected(str(tmp_path / "expected.yaml"))


def test_what_was_written_of_a_run_is_what_it_scores(evaluation, tmp_path):
    assert moved(evaluation, expectation(tmp_path, json.dumps(evaluation.to_json()))) == []


def test_what_moved_is_named_with_what_was_expected(evaluation, tmp_path):
    text = "{task: qrecc, measures: {MRR: {mean: .7, low: .6, high: .8}, QR: {mean: .5, low: .4, high: .6}}}"
    assert moved(evaluation, expectation(tmp_path, text)) == [
        "MRR: 0.5; expected 0.7 (0.6 to 0.8)", "QR: has no value; expected 0.5",
    ]  # fmt: skip
    near = "{task: qrecc, measures: {MRR: {mean: .5, low: .5, high: .5}}}"
    assert moved(evaluation, expectation(tmp_path, near)) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{task: qrecc, measures: {}}", "measures"),
        ("{task: qrecc, measures: {MRR: {mean: high, low: 0, high: 1}}}", r"measures\.MRR\.mean"),
        (
            "{task: mrqa, measures: {EM: {mean: .1, low: .0, high: .2}}}",
            "the scores are of mrqa, but the run is of qrecc",
        ),
    ],
)
def test_mistakes_are_named(evaluation, tmp_path, text, says):
    with pytest.raises(InputError, match=says):
        moved(evaluation, expectation(tmp_path, text))
    with pytest.raises(InputError, match=r"--check: unknown name 'vaswan'"):
        read_expected("vaswan")


@pytest.mark.parametrize("file", sorted(shipped("configs", "benchmarks").glob("*.yaml")), ids=lambda file: file.stem)
def test_what_ships_can_be_read(file):
    assert read_expected(file.stem).measures
