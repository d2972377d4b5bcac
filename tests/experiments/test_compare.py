"""Runs beside a baseline: differences, groups and turns, and what ranx says of the same runs."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from convqa.errors import InputError
from convqa.experiments import tables
from convqa.experiments.compare import compare, questions_of

CONVERSATIONS, TURNS = 20, 3


def write(folder: Path, chance: float, seed: int, turns: int = TURNS) -> Path:
    """A run in which the gold passage comes first with a chance, else second or third."""
    draw = random.Random(seed)
    folder.mkdir(parents=True)
    records = []
    for conversation in range(1, CONVERSATIONS + 1):
        for turn in range(1, turns + 1):
            score = 3.0 if draw.random() < chance else draw.choice([1.5, 0.5])
            passages = {"other": 2.0, "another": 1.0, f"gold{conversation}_{turn}": score}
            records.append({
                "Conversation_no": conversation, "Turn_no": turn, "Model_rewrite": f"rewrite {seed}",
                "Model_passages": passages, "Model_answer": f"answer {seed}",
            })  # fmt: skip
    (folder / "run.json").write_text(json.dumps(records))
    return folder


@pytest.fixture
def truth(tmp_path):
    return made_truth(tmp_path / "truth", TURNS)


def made_truth(folder, turns):
    folder.mkdir()
    ids = [(c, t) for c in range(1, CONVERSATIONS + 1) for t in range(1, turns + 1)]
    records = [
        {"Conversation_no": c, "Turn_no": t, "Truth_rewrite": "rewrite", "Truth_answer": "answer",
         "Truth_passages": [f"gold{c}_{t}"], "Answerable": c % 2 == 0}
        for c, t in ids
    ]  # fmt: skip
    (folder / "ground-truth.json").write_text(json.dumps(records))
    questions = [{"Conversation_no": c, "Turn_no": t, "Question": f"question {c} {t}"} for c, t in ids]
    (folder / "questions.json").write_text(json.dumps(questions))
    return folder


def test_a_run_does_not_differ_from_itself(truth, tmp_path):
    made = compare([write(tmp_path / "a", 0.5, 1), write(tmp_path / "b", 0.5, 1)], truth)
    assert len(made.differences) > 10
    for one in [
        *made.differences,
        *(one for groups in made.breakdowns.values() for some in groups.values() for one in some),
    ]:
        assert one.difference == 0
        if one.p is not None:
            assert (one.low, one.high, one.p, one.better, one.worse) == (0, 0, 1, 0, 0)


def test_a_difference_is_told_with_its_interval_test_and_turns(truth, tmp_path):
    runs = [write(tmp_path / "weak", 0.2, 1), write(tmp_path / "strong", 0.9, 2), write(tmp_path / "alike", 0.2, 3)]
    made = compare(runs, truth)
    strong, alike = made.of("strong", "MRR"), made.of("alike", "MRR")
    assert strong.difference == pytest.approx(strong.mean - strong.base) and strong.difference > 0.2
    assert 0 < strong.low < strong.difference < strong.high
    assert strong.certain and not alike.certain
    assert strong.adjusted == pytest.approx(2 * strong.p) and alike.adjusted == alike.p
    assert strong.better + strong.same + strong.worse == strong.turns == 60
    assert strong.conversations == 20
    turns = made.turns("strong", "MRR", questions_of(made))
    assert [one.score - one.base for one in turns] == sorted((one.score - one.base for one in turns), reverse=True)
    assert turns[0].question.startswith("question") and turns[0].rewrites == ("rewrite 1", "rewrite 2")
    assert turns[0].answers == ("answer 1", "answer 2")
    assert json.dumps(made.to_json()) and json.dumps(turns[0].to_json())


def test_groups_of_a_breakdown_make_up_the_whole(truth, tmp_path):
    made = compare([write(tmp_path / "a", 0.2, 1), write(tmp_path / "b", 0.6, 2)], truth)
    assert set(made.breakdowns) == {"history", "depth", "answerable"}
    for groups in made.breakdowns.values():
        parts = [one for some in groups.values() for one in some if one.measure == "MRR"]
        assert sum(one.turns for one in parts) == 60
        whole = sum(one.turns * one.difference for one in parts) / 60
        assert whole == pytest.approx(made.of("b", "MRR").difference)


def test_the_truth_is_that_of_the_input_unless_it_is_named(truth, tmp_path):
    runs = [write(tmp_path / "a", 0.2, 1), write(tmp_path / "b", 0.6, 2)]
    with pytest.raises(InputError, match="Name the truth: --truth"):
        compare(runs)
    (runs[0] / "run.meta.json").write_text(json.dumps({"input": str(truth)}))
    assert compare(runs).to_json() == compare(runs, truth).to_json()


def test_mistakes_are_named(truth, tmp_path):
    runs = [write(tmp_path / "a", 0.2, 1), write(tmp_path / "b", 0.6, 2)]
    for arguments, says in (
        ({"against": "c"}, "--against c: no run has this name"),
        ({"measures": ["MMR"]}, "--measure MMR: no run has it"),
        ({"breakdown": ["topic"]}, "no record has the field 'topic'"),
    ):
        with pytest.raises(InputError, match=says):
            compare(runs, truth, **arguments)
    with pytest.raises(InputError, match="two runs or more"):
        compare(runs[:1], truth)


@pytest.mark.slow  # numba compiles it first
@pytest.mark.filterwarnings("ignore")
def test_ranx_finds_the_same(tmp_path):
    """Where each conversation has one turn, this is the test that ranx has over queries."""
    import ranx

    truth = made_truth(tmp_path / "truth", 1)
    runs = [write(tmp_path / "a", 0.2, 1, 1), write(tmp_path / "b", 0.7, 2, 1)]
    gold = json.loads((truth / "ground-truth.json").read_bytes())
    qrels = ranx.Qrels({str(one["Conversation_no"]): dict.fromkeys(one["Truth_passages"], 1) for one in gold})
    theirs = [
        ranx.Run(
            {str(one["Conversation_no"]): one["Model_passages"] for one in json.loads((run / "run.json").read_bytes())}
        )
        for run in runs
    ]
    report = ranx.compare(qrels, theirs, ["mrr"], stat_test="fisher", n_permutations=10_000).to_dict()
    ours = compare(runs, truth).of("b", "MRR")
    assert [report["run_1"]["scores"]["mrr"], report["run_2"]["scores"]["mrr"]] == pytest.approx([ours.base, ours.mean])
    assert report["run_1"]["comparisons"]["run_2"]["mrr"] == pytest.approx(ours.p, abs=0.01)


def test_tables_for_papers(truth, tmp_path):
    made = compare([write(tmp_path / "weak_1", 0.2, 1), write(tmp_path / "strong", 0.9, 2)], truth)
    measures = tables.shown_measures(made, ["MRR", "R@100"])
    text, tex = tables.markdown(made, measures), tables.latex(made, measures)
    mean = f"{made.of('strong', 'MRR').mean:.3f}"
    assert f"| strong | **{mean}**† | **1.000** |" in text
    assert "weak_1" in text and r"weak\_1 & " in tex
    assert rf"strong & \textbf{{{mean}}}$^{{\dagger}}$ & \textbf{{1.000}} \\" in tex
    assert tex.count(r"\toprule") == tex.count(r"\bottomrule") == 1
