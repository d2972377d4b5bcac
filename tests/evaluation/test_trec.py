from __future__ import annotations

import json
import math

import ir_measures
import pytest
import pytrec_eval
from ir_measures import RR, R, nDCG

from convqa.evaluation import evaluate, write_trec


def evaluated(folder, truth, run):
    """``truth``: turn -> relevant ids; ``run``: turn -> {id: score}, all of one conversation."""
    truth_records = [
        {"Conversation_no": "c 1", "Turn_no": n, "Truth_rewrite": "", "Truth_answer": "", "Truth_passages": sorted(ids)}
        for n, ids in truth.items()
    ]
    run_records = [{"Conversation_no": "c 1", "Turn_no": n, "Model_passages": scores} for n, scores in run.items()]
    (folder / "ground-truth.json").write_text(json.dumps(truth_records))
    (folder / "run.json").write_text(json.dumps(run_records))
    return evaluate(folder, folder)


def test_lines(tmp_path):
    run = {1: {"Types of cheese:19": 15.1, "b": 2, "c": 2}, 2: {"x": 1}, 3: {}}
    evaluation = evaluated(tmp_path, {1: ["b"], 2: [], 3: ["q"], 4: ["r"]}, run)
    paths = write_trec(evaluation, tmp_path)
    assert [path.name for path in paths] == ["run.trec", "truth.qrels"]
    assert paths[0].read_text().splitlines() == [
        "c%201_1 Q0 Types%20of%20cheese:19 1 15.1 convqa",
        "c%201_1 Q0 c 2 2.0 convqa",
        "c%201_1 Q0 b 3 1.9999999 convqa",
        "c%201_3 Q0 (nothing) 1 0.0 convqa",
    ]
    assert paths[1].read_text().splitlines() == ["c%201_1 0 b 1", "c%201_3 0 q 1"]


def test_long_ids_are_short_in_both_files(tmp_path):
    """Ranx takes minutes for ids as long as the URLs of archived pages."""
    long = [f"https://example.org/{'a' * 500}{number}" for number in range(2)]
    evaluation = evaluated(tmp_path, {1: [long[0]]}, {1: {long[0]: 2, long[1]: 1}})
    run, qrels = [
        [line.split()[2] for line in path.read_text().splitlines()] for path in write_trec(evaluation, tmp_path)
    ]
    assert len(set(run)) == 2 and qrels == run[:1] and max(map(len, run)) == 64


def test_plain_calls_of_other_tools_agree_on_ties_and_turns_without_a_ranking(tmp_path):
    truth = {1: ["b"], 2: ["a"], 3: ["b"], 4: ["q"], 5: ["b"]}
    run = {1: {"a": 1, "b": 1}, 2: {"a": 1, "b": 1, "c": 1.0000001}, 3: {"b": 1e39, "a": math.inf}, 4: {}, 5: {"b": 1}}
    evaluation = evaluated(tmp_path, truth, run)
    run_path, qrels_path = map(str, write_trec(evaluation, tmp_path))
    measures = {RR: "MRR", RR @ 10: "MRR@10", nDCG @ 3: "nDCG@3", R @ 10: "R@10"}
    found = ir_measures.calc_aggregate(
        list(measures), ir_measures.read_trec_qrels(qrels_path), ir_measures.read_trec_run(run_path)
    )
    assert {name: evaluation.summaries[name].mean for name in measures.values()} == {
        name: pytest.approx(found[measure]) for measure, name in measures.items()
    }
    # As trec_eval without -c does: the mean over the turns that are in both files.
    with open(qrels_path) as qrels, open(run_path) as ranked:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(qrels), {"recip_rank"})
        scores = evaluator.evaluate(pytrec_eval.parse_run(ranked))
    ranks = [score["recip_rank"] for score in scores.values()]
    assert len(ranks) == 5 and sum(ranks) / 5 == pytest.approx(evaluation.summaries["MRR"].mean)
