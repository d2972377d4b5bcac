"""Runs beside a baseline: differences, groups and turns, and what ranx says of the same runs."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from convqa.domain import TurnId
from convqa.errors import InputError
from convqa.evaluation import Evaluation
from convqa.experiments import tables
from convqa.experiments.compare import compare, compare_evaluations, truth_of
from convqa.tasks import Measure, Scores
from convqa.tasks.qrecc.task import QReCC
from convqa.tasks.scores import Gold, GoldTurn

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
    turns = made.turns("strong", "MRR", 10)
    gains = [one.score - one.base for one in turns]
    assert gains[:5] == sorted(gains[:5], reverse=True) and gains[5:] == sorted(gains[5:])
    assert min(gains[:5]) > 0 > max(gains[5:])
    assert turns[0].question.startswith("question") and turns[0].rewrites == ("rewrite 1", "rewrite 2")
    assert turns[0].answers == ("answer 1", "answer 2")
    assert json.dumps(made.to_json()) and json.dumps(turns[0].to_json())
    assert [one.run.passages for one in made.evaluations.values()] == [{}, {}, {}]  # too large to keep


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
    with pytest.raises(InputError, match=r"expected runs of one input, got unknown ones\. Add --truth"):
        compare(runs)
    (runs[0] / "run.meta.json").write_text(json.dumps({"input": str(truth)}))
    assert compare(runs).to_json() == compare(runs, truth).to_json()


def test_mistakes_are_named(truth, tmp_path):
    runs = [write(tmp_path / "a", 0.2, 1), write(tmp_path / "b", 0.6, 2)]
    for arguments, says in (
        ({"measures": ["MMR"]}, "--measure MMR: unknown measure"),
        ({"breakdown": ["topic"]}, "topic"),
    ):
        with pytest.raises(InputError, match=says):
            compare(runs, truth, **arguments)
    with pytest.raises(InputError, match="two or more runs"):
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


def test_a_table_in_markdown(truth, tmp_path):
    made = compare([write(tmp_path / "weak_1", 0.2, 1), write(tmp_path / "strong", 0.9, 2)], truth)
    text = tables.markdown(made, tables.shown_measures(made, ["MRR", "R@100"]))
    mean = f"{made.of('strong', 'MRR').mean:.3f}"
    assert f"| strong | **{mean}**† | **1.000** |" in text and "weak_1" in text


def evaluation(columns):
    turns = tuple(GoldTurn(id, {}) for id in columns[0].ids)
    return Evaluation(
        QReCC(), Gold(Path("truth"), turns), SimpleNamespace(path=Path("run")), tuple(columns), {}, {}, {}
    )


def column(values, ids=None, **further):
    ids = ids or tuple(TurnId(place // 3, place % 3 + 1) for place in range(len(values)))
    return Scores(Measure("M", scale=100.0), ids, tuple(map(float, values)), **further)


def test_turns_that_one_run_is_not_scored_on_count_for_none():
    draw = random.Random(5)
    runs = [column([draw.randrange(5) for _ in range(30)]) for _ in range(3)]
    part = replace(runs[2], ids=runs[2].ids[:12], values=runs[2].values[:12])
    made = compare_evaluations({"a": evaluation(runs[:1]), "b": evaluation([runs[1]]), "c": evaluation([part])}, "a")
    assert [one.turns for one in made.differences] == [12, 12]
    assert made.of("b", "M").mean == 100 * sum(runs[1].values[:12]) / 12
    assert made.of("b", "M").base == made.of("c", "M").base == 100 * sum(runs[0].values[:12]) / 12
    assert len(made.turns("b", "M", 90)) > 20


def test_a_measure_has_the_same_interval_and_p_whatever_else_is_compared():
    draw = random.Random(7)
    columns = {}
    for run in "ab":
        whole = column([draw.random() for _ in range(90)])
        part = column([draw.random() + (run == "b") / 12 for _ in range(48)], whole.ids[:48])
        columns[run] = [replace(whole, measure=Measure("whole")), replace(part, measure=Measure("part"))]
    made = {run: evaluation(scores) for run, scores in columns.items()}
    together = compare_evaluations(made, "a")
    for measure in ("whole", "part"):
        assert compare_evaluations(made, "a", [measure]).differences == [together.of("b", measure)]


def test_a_statistic_is_that_of_each_run_and_has_no_test():
    """The values of a statistic may be places in a table of its own run, as ShARC's are."""

    def table(rows):
        return column(range(4), groups=tuple("abab"), statistic=lambda by: max(rows[int(one)] for one in by["a"]))

    made = compare_evaluations({"a": evaluation([table([1, 2, 3, 4])]), "b": evaluation([table([5, 6, 7, 8])])}, "a")
    assert (made.of("b", "M").base, made.of("b", "M").mean) == (300, 700)
    assert made.of("b", "M").p is made.of("b", "M").low is made.of("b", "M").adjusted is None
    assert made.turns("b", "M", 9) == []


def test_a_macro_average_weighs_turns_by_their_groups():
    ids = tuple(TurnId(talk, 1) for talk in range(40))
    groups = tuple("a" * 36 + "b" * 4)
    base, other = column([0] * 40, ids, groups=groups), column([0] * 36 + [1, 1, 1, 1], ids, groups=groups)
    made = compare_evaluations({"a": evaluation([base]), "b": evaluation([other])}, "a").of("b", "M")
    assert (made.difference, made.low, made.high) == (50, 50, 50)
    assert made.p == 2 / 2**4  # only four conversations differ: all assignments are counted
    other = column([0] * 36 + [1, 1, 1, 1], ids, groups=groups)
    base = column(
        [1] * 4 + [0] * 36, ids, groups=groups
    )  # four wins and four losses, each of them worth a ninth of a win
    made = compare_evaluations({"a": evaluation([base]), "b": evaluation([other])}, "a").of("b", "M")
    assert (made.better, made.worse, made.p) == (4, 4, 2 * 2**4 / 2**8)


def test_without_a_turn_in_common_there_is_nothing_to_compare():
    first, second = column([1, 1, 1]), column([1, 1, 1], tuple(TurnId(9, number) for number in range(3)))
    with pytest.raises(InputError, match="a shares no measure and turn with another run"):
        compare_evaluations({"a": evaluation([first]), "b": evaluation([second])}, "a")


def test_runs_of_other_inputs_and_inputs_without_truth_are_refused(truth, tmp_path):
    runs = [write(tmp_path / "a", 0.2, 1), write(tmp_path / "b", 0.6, 2)]
    (tmp_path / "other").mkdir()
    note(runs[0], truth / "questions.json")
    assert truth_of(runs) == truth
    note(runs[1], tmp_path / "other")
    with pytest.raises(InputError, match=r"expected runs of one input, got .*other, .*questions.json. Add --truth"):
        truth_of(runs)
    with pytest.raises(InputError, match=r"other: the input of the runs has no truth.*--truth"):
        truth_of(runs[1:])


def note(run, place):
    (run / "run.meta.json").write_text(json.dumps({"input": str(place)}))
