"""Rankings scored by qrels, as trec_eval scores them."""

from __future__ import annotations

import json

import pytest
import pytrec_eval

from convqa.errors import InputError
from convqa.evaluation import evaluate, write_official, write_turns
from convqa.experiments.compare import compare
from convqa.tasks import find_scored_task
from convqa.tasks.trec import truth

QRELS = "31_1 0 a 3\n31_1 0 b 1\n31_1 0 x 0\n31_2 0 c 2\n132_1-3 0 a 1\n132_1-3 0 d 2\n2024-7 0 a 1\n"
RUN = {"31_1": ["x", "b", "a"], "132_1-3": ["c", "d", "a"], "2024-7": ["b"]}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "qrels.txt").write_text(QRELS)
    write_run(tmp_path / "run.trec", RUN)
    return tmp_path


def write_run(path, rankings):
    path.parent.mkdir(exist_ok=True)
    lines = [f"{turn} Q0 {id} {n} {9 - n} me\n" for turn, ids in rankings.items() for n, id in enumerate(ids, 1)]
    path.write_text("".join(lines))


def test_scores_are_those_of_trec_eval(folder):
    evaluation = evaluate(folder / "qrels.txt", folder)
    names = {"nDCG@3": "ndcg_cut_3", "nDCG@10": "ndcg_cut_10", "R@1000": "recall_1000", "MAP": "map"}
    with (folder / "qrels.txt").open() as qrels, (folder / "run.trec").open() as run:
        evaluator = pytrec_eval.RelevanceEvaluator(
            pytrec_eval.parse_qrel(qrels), {"ndcg_cut.3,10", "recall.1000", "map"}
        )
        theirs = evaluator.evaluate(pytrec_eval.parse_run(run))
    for ours, official in names.items():
        expected = [theirs.get(turn, {}).get(official, 0.0) for turn in ("31_1", "31_2", "132_1-3", "2024-7")]
        assert evaluation.scores[ours].values == pytest.approx(expected)
        assert any(expected)
    assert evaluation.scores["Judged@10"].values == pytest.approx((1.0, 0.0, 2 / 3, 0.0))


def test_further_measures_have_the_grades(folder):
    evaluation = evaluate(folder / "qrels.txt", folder, measures=["nDCG@2", "R(rel=2)@10", "MRR"])
    # Gains 0 and 1 of the ideal 3 and 1; binary gains would give .387.
    assert evaluation.scores["nDCG@2"].values[0] == pytest.approx(0.6309 / 3.6309, abs=1e-4)
    assert evaluation.scores["R(rel=2)@10"].values == (1.0, 0.0, 1.0, 0.0)
    assert evaluation.scores["MRR"].values == (0.5, 0.0, 0.5, 0.0)


def test_files_name_the_turns(folder):
    evaluation = evaluate(folder / "qrels.txt", folder)
    rows = [json.loads(line) for line in write_turns(evaluation, folder / "turns.jsonl").read_text().splitlines()]
    assert [(row["topic"], row["turn"]) for row in rows] == [("31", 1), ("31", 2), ("132", "1-3"), ("2024-7", 1)]
    official = json.loads(write_official(evaluation, folder).read_text())
    assert list(official) == ["nDCG@3", "nDCG@10", "R@1000", "MAP", "Judged@10"]


def test_part_of_the_topics(folder):
    write_run(folder / "run.trec", {"31_1": ["a"]})
    evaluation = evaluate(folder / "qrels.txt", folder, partial=True)
    assert [str(id) for id in evaluation.scores["MAP"].ids] == ["31_1", "31_2"]


def test_the_rankings_of_a_run_json(folder):
    record = {"Conversation_no": 31, "Turn_no": 1, "Model_passages": {"a": 2.0, "x": 1.0}}
    (folder / "other").mkdir()
    (folder / "other" / "run.json").write_text(json.dumps([record]))
    evaluation = evaluate(folder / "qrels.txt", folder / "other", task="trec")
    assert evaluation.scores["R@1000"].values == (0.5, 0.0, 0.0, 0.0)


def test_runs_are_compared_over_turns_and_over_topics(tmp_path):
    """One topic of three turns differs in each; as topics, they are one pair of values, which shows nothing."""
    turns = [f"1_{number}" for number in range(1, 9)]
    (tmp_path / "qrels.txt").write_text("".join(f"{turn} 0 a 1\n" for turn in turns))
    write_run(tmp_path / "one" / "run.trec", {turn: ["b", "a"] for turn in turns})
    write_run(tmp_path / "two" / "run.trec", {turn: ["a", "b"] for turn in turns})
    comparison = compare([tmp_path / "one", tmp_path / "two"], tmp_path / "qrels.txt", task="trec")
    difference = comparison.of("two", "nDCG@3")
    assert difference.p == 1.0 and difference.turns_p == pytest.approx(2 / 2**8)


@pytest.mark.parametrize(
    ("qrels", "says"),
    [
        ("31_1 0 a\n", "line 1: expected qrels"),
        ("31_1 0 a high\n", "line 1: expected qrels"),
        ("7_1 0 a 1\n", "judges no turn of .* such as 31_1, not 7_1"),
        ('[{"number": 31, "turn": [{"number": 1, "raw_utterance": "Why?"}]}]', "no truth.*--qrels FILE"),
    ],
)
def test_mistakes_are_named(folder, qrels, says):
    (folder / "qrels.txt").write_text(qrels)
    with pytest.raises(InputError, match=says):
        evaluate(folder / "qrels.txt", folder, task="trec")


def test_a_malformed_run_is_named(folder):
    (folder / "run.trec").write_text("31_1 Q0 a 1 nan me\n")
    with pytest.raises(InputError, match="line 1: expected TURN Q0 PASSAGE"):
        evaluate(folder / "qrels.txt", folder)


def test_qrels_are_recognized(folder):
    assert find_scored_task("auto", folder / "qrels.txt", folder).name == "trec"


def test_a_file_without_judgments_is_refused(tmp_path):
    (tmp_path / "empty.qrels").write_text("\n")
    with pytest.raises(InputError, match=r"empty\.qrels: has no judgments; expected qrels"):
        truth.read(tmp_path / "empty.qrels")
