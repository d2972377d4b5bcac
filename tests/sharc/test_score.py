"""The official scripts' numbers, case by case; what makes them crash; whatever is predicted."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convqa.domain import TurnId
from convqa.errors import InputError
from convqa.evaluation import evaluate, official_text, render, write_trec
from convqa.sharc import schema
from convqa.sharc.run import ShARCRun
from convqa.sharc.schema import normalize
from convqa.sharc.task import ShARC
from convqa.sharc.truth import ShARCGold, ShARCTruth
from convqa.tasks.scores import ScoreOptions

TASK = ShARC()
CYPRUS, FRANCE, OLD = "Do you live in Cyprus?", "Do you live in France?", "Are you over 60?"
FOUR = ("Yes", "No", "Irrelevant", CYPRUS)


def scored(truth, answers, form="official"):
    """Measure -> (value, as the table has it, or why there is none) of answers to utterances u0, u1 ..."""
    turns = []
    for place, answer in enumerate(truth):
        fields = {"class": normalize(answer, form).label}
        turns.append(ShARCTruth(TurnId(f"u{place}", 1), fields, answer, ""))
    run = ShARCRun(Path("predictions.json"), {f"u{place}": answer for place, answer in enumerate(answers)}, {})
    found = {}
    for column in TASK.score(ShARCGold(Path("truth"), tuple(turns), form), run, ScoreOptions()):
        values = column.values
        value = column.statistic(column.by_group()) if column.statistic else sum(values) / max(1, len(values))
        found[column.measure.name] = column.skipped or value * column.measure.scale
    return found


def official(truth, answers, form="official"):
    found = scored(truth, answers, form)
    return json.loads(TASK.official_text({name: value for name, value in found.items() if not isinstance(value, str)}))


@pytest.mark.parametrize(
    ("answers", "accuracies", "bleu"),
    [
        (("Yes", "Yes", "Irrelevant", FRANCE), (0.75, 0.75), (0.8571, 0.7559, 0.6999, 0.6435)),
        (("Yes.", "No", "Irrelevant", CYPRUS), (0.75, 0.75), (1, 1, 1, 1)),
        (("Yes", "No", "Irrelevant", "More"), (1, 1), (0, 0, 0, 0)),
        (("Yes", CYPRUS, "Irrelevant", "No"), (0.5, 0.5), (0, 0, 0, 0)),
        (("Yes", "No", "Irrelevant"), (1, 1), (0.0034, 0.0048, 0.0053, 0.0057)),
        ((" YES", "no", "irrelevant\n", CYPRUS.upper()), (1, 1), (1, 1, 1, 1)),
    ],
)
def test_the_worked_cases(answers, accuracies, bleu):
    found = official(FOUR, answers)
    assert (found["micro_accuracy"], found["macro_accuracy"]) == accuracies
    assert tuple(found[f"bleu_{order}"] for order in (1, 2, 3, 4)) == bleu


def test_without_spacy_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(schema, "_tokenizer", schema._tokenizer.__wrapped__)
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(InputError, match=r"pip install 'convqa\[sharc\]'"):
        normalize("Yes", "official")


def test_a_class_that_is_not_in_the_truth_leaves_no_macro_accuracy():
    found = scored((CYPRUS, OLD), (CYPRUS, FRANCE))
    assert (
        found["Micro accuracy"] == 1
        and found["Macro accuracy"] == "the truth has no answer of class yes, no, irrelevant"
    )
    assert [round(found[f"BLEU-{order}"], 4) for order in (1, 2, 3, 4)] == [0.6923, 0.6145, 0.5942, 0.5884]
    assert found["Combined"] == "there is no macro accuracy" and "Recall yes" not in found


def test_combined_is_the_product_of_macro_accuracy_and_bleu4():
    found = scored(FOUR, ("Yes", "Yes", "Irrelevant", FRANCE))
    assert found["Combined"] == pytest.approx(0.75 * 0.6435, abs=1e-4)
    assert [found[f"Recall {name}"] for name in ("yes", "no", "more", "irrelevant")] == [1, 0, 1, 1]


@pytest.mark.parametrize("answers", [("Yes", "No", "Irrelevant", ""), ("", "", "", " \n")])
def test_empty_answers_at_which_the_script_crashes_are_refused(answers):
    with pytest.raises(
        InputError, match=r"predictions\.json: all 1 answers that BLEU is computed from, of 4, are empty"
    ):
        scored(FOUR, answers)


def test_an_empty_answer_beside_others_counts():
    found = official((*FOUR, OLD), ("Yes", "No", "Irrelevant", "", OLD))
    assert found["bleu_1"] == pytest.approx(0.3012, abs=1e-4)  # exp(1 - 11 / 5): all five words right, of eleven


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (("Yes", "Yes", FRANCE, "No"), {"micro_accuracy": 75, "macro_accuracy": 83.33, "fscore_bleu_1": 85.71,
         "fscore_bleu_4": 64.35, "classwise_accuracy_no": 50}),
        (("Yes.", "No", CYPRUS, "No"), {"micro_accuracy": 75, "macro_accuracy": 66.67, "precision_bleu_1": 77.78,
         "recall_bleu_1": 100, "fscore_bleu_1": 87.5, "precision_bleu_4": 90.36, "recall_bleu_4": 100,
         "fscore_bleu_4": 94.94}),
    ],
)  # fmt: skip
def test_the_worked_cases_of_the_open_form(answers, expected):
    found = official(("Yes", "No", CYPRUS, "No"), answers, "open")
    assert {name: found[name] for name in expected} == expected


def test_a_class_that_the_open_truth_lacks_leaves_the_recalls_of_the_others():
    """MUDERN's script prints NaN for the class and the macro accuracy, and the other recalls."""
    found = official(("Yes", "Yes", CYPRUS), ("Yes", "No", CYPRUS), "open")
    assert found["micro_accuracy"] == 66.67 and "macro_accuracy" not in found
    recalls = {name: value for name, value in found.items() if name.startswith("classwise")}
    assert recalls == {"classwise_accuracy_yes": 50, "classwise_accuracy_more": 100}


def test_f1_is_of_precision_and_recall_as_they_are_printed():
    assert official(("Yes", CYPRUS), (CYPRUS, FRANCE), "open")["fscore_bleu_4"] == 45.81  # of the unrounded: 45.80


@pytest.mark.parametrize("answers", [("Yes", "Yes", "No", "No"), ("Yes", CYPRUS, "No", "No")])
def test_an_open_run_that_never_asks_where_it_should_has_accuracies_and_no_bleu(answers):
    found = scored(("Yes", "No", CYPRUS, "No"), answers, "open")
    assert found["Micro accuracy %"] == 50
    assert (
        found["F1_BLEU-1"]
        == found["F1_BLEU-4"]
        == "truth and run ask in no common turn: the official script divides by zero"
    )
    assert not {"P_BLEU-1", "R_BLEU-4"} & found.keys()


def test_where_nobody_asks_the_open_form_has_zeros():
    right = {"micro_accuracy": 100, "classwise_accuracy_yes": 100, "classwise_accuracy_no": 100}
    assert official(("Yes", "No"), ("Yes", "No"), "open") == right | {
        f"{name}_bleu_{order}": 0 for name in ("precision", "recall", "fscore") for order in (1, 2, 3, 4)
    }


def test_empty_answers_of_the_open_form():
    with pytest.raises(InputError, match=r"all 2 answers .* of 3, are empty"):
        scored(("Yes", "No", CYPRUS), ("Yes", "", ""), "open")


def test_irrelevant_answers_of_the_open_form_are_told(caplog):
    scored(("Yes", "No"), ("Yes", "Irrelevant"), "open")
    assert "answers that are Irrelevant, which is a question in the open-retrieval form: 1" in caplog.text


texts = st.sampled_from(["Yes", "No", "Irrelevant", "more", "", " ", CYPRUS, FRANCE, OLD, "?", "can't", "\u00a0x"])


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(texts.filter(str.strip), texts), min_size=1, max_size=6), st.sampled_from(["official", "open"])
)
def test_whatever_is_predicted_there_are_numbers_in_range_or_the_reason(pairs, form):
    truth, answers = zip(*pairs, strict=True)
    try:
        found = scored(truth, answers, form)
    except InputError as error:
        assert "are empty" in str(error) and not all(answer.strip() for answer in answers)
        return
    for value in found.values():
        assert isinstance(value, str) or 0 <= value <= (100 if form == "open" else 1)


def test_an_evaluation_of_the_golden_run(opened, tmp_path):
    evaluation = evaluate(opened, Path(__file__).parent / "data" / "predictions.json", breakdown=["snippet_seen"])
    assert evaluation.task.name == "sharc"
    bleu = {1: 45.73, 2: 31.69, 3: 23.97, 4: 22.41}
    assert json.loads(official_text(evaluation)) == {
        "micro_accuracy": 75, "macro_accuracy": 83.33,
        "classwise_accuracy_yes": 100, "classwise_accuracy_no": 50, "classwise_accuracy_more": 100,
        **{f"{name}_bleu_{order}": bleu[order] for name in ("precision", "recall", "fscore") for order in bleu},
    }  # fmt: skip
    whole = evaluation.summaries["Macro accuracy %"]
    assert whole.low <= whole.mean <= whole.high and whole.turns == 4
    ranked = {name: evaluation.summaries[name].mean for name in ("MRR@20", "R@1", "R@20")}
    assert ranked == {"MRR@20": 0.75, "R@1": 0.75, "R@20": 0.75}
    parts = evaluation.breakdowns["snippet_seen"]
    assert parts["false"]["Micro accuracy %"].mean == 100 and parts["true"]["Micro accuracy %"].mean == 0
    assert "Macro accuracy %" not in parts["true"] and json.dumps(evaluation.to_json())
    render(evaluation)
    run, qrels = write_trec(evaluation, tmp_path)
    assert len(run.read_text().splitlines()) == 7 and len(qrels.read_text().splitlines()) == 4


def test_the_utterances_of_a_run_alone(official, predict, caplog):
    truth = TASK.gold(official).turns
    run = predict({turn.id.conversation: turn.answer for turn in truth[:2]})
    assert evaluate(official, run).summaries["Micro accuracy"].mean == 0.8  # the two questions are "missing", too
    assert "each counts as a question; --partial leaves them out" in caplog.text
    alone = evaluate(official, run, partial=True).summaries["Micro accuracy"]
    assert (alone.mean, alone.turns) == (1, 2)


@pytest.mark.parametrize(("path", "form", "floor"), [("sharc1_dev.json", "official", (0.3542, 0.25)),
                                                     ("open-retrieval", "open", (38.55, 33.33))])  # fmt: skip
def test_the_floor_of_always_yes(data, path, form, floor):
    gold = TASK.gold(data / "sharc" / path)
    run = ShARCRun(Path("p"), {turn.id.conversation: "Yes" for turn in gold.turns}, {})
    columns = {column.measure.name: column for column in TASK.score(gold, run, ScoreOptions())}
    unit, digits = (" %", 2) if form == "open" else ("", 4)
    micro, macro = columns[f"Micro accuracy{unit}"], columns[f"Macro accuracy{unit}"]
    scale = micro.measure.scale
    assert round(scale * sum(micro.values) / len(micro.values), digits) == floor[0]
    assert round(scale * macro.statistic(macro.by_group()), digits) == floor[1]
