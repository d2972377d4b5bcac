"""Measures by name: convqa's own, those of ir_measures, and those of other packages."""

from __future__ import annotations

import json

import pytest

from convqa.errors import InputError
from convqa.evaluation import evaluate
from convqa.evaluation import measures as module
from convqa.evaluation.measures import find_measure, known_measures
from convqa.metrics.ranking import ranked
from convqa.tasks.scores import JudgedRankings

# A tie in the first turn; the second has no ranking.
JUDGED = JudgedRankings({"1_1": {"a": 3.0, "b": 2.0, "c": 2.0, "d": 1.0}}, {"1_1": ("b", "d"), "1_2": ("a",)})


def scores(name):
    scorer = find_measure(name)
    rankings = {turn: ranked(JUDGED.rankings.get(turn, {})) for turn in JUDGED.relevant}
    return {turn: scorer(relevant, rankings[turn]) for turn, relevant in JUDGED.relevant.items()}


@pytest.mark.parametrize(
    ("name", "theirs"), [("MRR", "RR"), ("MRR@2", "RR@2"), ("nDCG", "nDCG"), ("nDCG@3", "nDCG@3"), ("R@3", "R@3")]
)
def test_our_measures_are_those_of_ir_measures(name, theirs):
    assert scores(name) == pytest.approx(scores(theirs))


def test_other_measures_are_those_of_ir_measures():
    assert scores("P@2") == {"1_1": 0.0, "1_2": 0.0}  # of equal scores, the higher id comes first
    assert scores("AP") == {"1_1": pytest.approx((1 / 3 + 2 / 4) / 2), "1_2": 0.0}


def test_a_measure_of_another_package_has_a_cutoff_too(installed):
    source = "def hit(relevant, ranking, k):\n    return float(bool(set(relevant) & set(ranking[:k])))\n"
    installed("measures_for_test", "convqa.measures", "Hit = measures_for_test:hit", source)
    assert scores("Hit") == {"1_1": 1.0, "1_2": 0.0}
    assert scores("Hit@2") == {"1_1": 0.0, "1_2": 0.0}


def test_names_that_nobody_knows(monkeypatch):
    names = ["MRR", "nDCG@x", "F1", "P@5", "@5"]
    assert known_measures(names) == ["MRR", "P@5"]
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    assert known_measures(names) == ["MRR"]


@pytest.fixture
def folder(tmp_path):
    records = [{"Conversation_no": 1, "Turn_no": number} for number in (1, 2)]
    gold = {"Truth_rewrite": "", "Truth_answer": "x", "Truth_passages": ["b"]}
    (tmp_path / "ground-truth.json").write_text(json.dumps([record | gold for record in records]))
    rankings = ({"a": 2, "b": 1}, {"b": 1})
    run = [record | {"Model_passages": ranking} for record, ranking in zip(records, rankings, strict=True)]
    (tmp_path / "run.json").write_text(json.dumps(run))
    return tmp_path


def test_a_named_measure_follows_those_of_the_task(folder):
    plain = evaluate(folder, folder)
    evaluation = evaluate(folder, folder, measures=["nDCG@1", "MRR", "P@1", "nDCG@1"])
    names = [measure.name for measure in evaluation.measures]
    assert names == [*(measure.name for measure in plain.measures), "nDCG@1", "P@1"]
    assert evaluation.summaries["nDCG@1"].mean == evaluation.summaries["P@1"].mean == 0.5
    assert evaluation.summaries["P@1"].turns == 2


def test_an_unknown_measure_is_refused(folder, monkeypatch):
    with pytest.raises(InputError, match=r"--measure nDCGG@3: .*'nDCG@3'"):
        evaluate(folder, folder, measures=["nDCGG@3"])
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"--measure P@5: .*pip install ir-measures"):
        evaluate(folder, folder, measures=["P@5"])


@pytest.mark.parametrize("value", ["None", "float('nan')", "'0.5'"])
def test_a_measure_whose_result_is_no_number_is_named(folder, installed, value):
    source = f"def odd(relevant, ranking, k):\n    return {value}\n"
    installed("odd_measure_for_test", "convqa.measures", "Odd = odd_measure_for_test:odd", source)
    with pytest.raises(InputError, match="--measure Odd@3: expected a finite number for turn 1_1, got"):
        evaluate(folder, folder, measures=["Odd@3"])
    with pytest.raises(InputError, match=r"--measure Od: unknown measure\. Did you mean 'Odd'\? Known: .*, Odd, also"):
        evaluate(folder, folder, measures=["Od"])


def test_without_rankings_a_measure_is_skipped(folder):
    records = json.loads((folder / "run.json").read_text())
    for record in records:
        record["Model_answer"] = "x"
        del record["Model_passages"]
    (folder / "run.json").write_text(json.dumps(records))
    evaluation = evaluate(folder, folder, measures=["nDCG@1"])
    assert "nDCG@1" in evaluation.skipped and "F1" in evaluation.summaries
