"""The official numbers to the last bit, what crashes the official script, and what stands beside its numbers."""

from __future__ import annotations

import json
import re

import pytest

from convqa.errors import InputError
from convqa.evaluation import evaluate, official_text
from convqa.tasks.mrqa.sets import ALIASES, averages


def line(*answers_by_qid):
    qas = [{"qid": qid, "question": "?", "answers": answers} for qid, answers in answers_by_qid]
    return {"context": "c", "qas": qas}


@pytest.fixture
def score(write, predict):
    """``score({qid: answers}, {qid: answer})``: an evaluation."""

    def scored(truth, answers, name="x.jsonl", **options):
        return evaluate(write(f"in/{name}", line(*truth.items())).parent, predict(answers), **options)

    return scored


def means(evaluation):
    return {name: summary.mean for name, summary in evaluation.summaries.items()}


CASES = [  # answers, prediction, EM, F1: made with the official script
    (["The Beatles"], "beatles!", 100, 100),
    (["the"], "a", 100, 0),
    (["U.S."], "the US", 100, 100),
    (["3,000"], "3000", 100, 100),
    (["12 March 1990"], "March 12, 1990", 0, 100),
    (["well-known"], "well known", 0, 0),
    (["“Hello”"], "Hello", 0, 0),
    (["cat sat", "the cat sat on a mat"], "a cat on the mat", 0, 85.71428571428571),
]


@pytest.mark.parametrize(("answers", "prediction", "em", "f1"), CASES)
def test_worked_cases(score, answers, prediction, em, f1):
    assert (
        official_text(score({"q": answers}, {"q": prediction}))
        == json.dumps({"exact_match": float(em), "f1": float(f1)}) + "\n"
    )


def test_em_and_f1_are_maxima_taken_apart(score):
    found = means(score({"q": ["x y", "x y z w"]}, {"q": "x y z w v"}))
    assert found["EM"] == 0 and found["F1"] == 100 * (2 * (4 / 5) / (4 / 5 + 1))
    assert means(score({"q": ["the", "b c"]}, {"q": "a"})) == {"EM": 100, "F1": 0}


TRUTH, PREDICTIONS = {"a": ["x y"], "b": ["z"], "c": ["w"]}, {"a": "x", "b": "z"}


def test_a_missing_prediction_counts_0_or_is_left_out(score, caplog):
    counted, left_out = score(TRUTH, PREDICTIONS), score(TRUTH, PREDICTIONS, skip_no_answer=True)
    assert official_text(counted) == '{"exact_match": 33.333333333333336, "f1": 55.55555555555555}\n'
    assert official_text(left_out) == '{"exact_match": 50.0, "f1": 83.33333333333333}\n'
    assert (counted.summaries["F1"].turns, left_out.summaries["F1"].turns) == (3, 2)
    assert counted.to_json()["options"] == {"skip_no_answer": False}
    assert caplog.messages.count(f"{counted.run.path}: lacks 1 of the 3 questions; --partial leaves them out") == 2


def test_the_questions_of_a_run_alone(score, caplog):
    truth = {"a": ["x"], "b": ["y"], "c": ["z"]}
    assert means(score(truth, {"a": "x", "b": "no"}, partial=True)) == {"EM": 50.0, "F1": 50.0}
    assert caplog.text == ""
    assert means(score(truth, {"a": "x", "b": "no"}))["EM"] == pytest.approx(100 / 3)
    assert "lacks 1 of the 3 questions; --partial leaves them out" in caplog.text


def test_a_set_that_a_run_has_nothing_of_has_no_line_alone(folder, predict):
    """Of sets in a folder, those of which run --limit answered nothing."""
    first = json.loads((folder / "SQuAD.jsonl").read_text().splitlines()[0])["qas"][0]
    found = evaluate(folder, predict({first["qid"]: first["answers"][0]}), partial=True)
    assert means(found) == {"EM": 100.0, "F1": 100.0}


def official(answers, predictions, skip_no_answer=False):
    """The sums of the official script, over f1 and em of one question each."""
    from convqa.metrics.squad import best_exact_match, best_f1

    f1 = em = total = 0
    for qid, truths in answers.items():
        if qid not in predictions:
            total += not skip_no_answer
            continue
        total += 1
        em += bool(best_exact_match(truths, predictions[qid]))
        f1 += best_f1(truths, predictions[qid])
    return {"exact_match": 100.0 * em / total, "f1": 100.0 * f1 / total}


@pytest.mark.parametrize("flag", [False, True])
def test_the_last_bit_is_the_official_one(score, flag):
    words = list("abcdefghijk")
    truth = {f"q{n}": [" ".join(words[: n % 7 + 1]), " ".join(words[n % 5 :])] for n in range(500)}
    answers = {f"q{n}": " ".join(words[n % 3 : n % 11 + 2]) for n in range(0, 500, 3)}
    expected = official(truth, answers, flag)
    assert official_text(score(truth, answers, skip_no_answer=flag)) == json.dumps(expected) + "\n"
    assert len(str(expected["f1"])) > 12


@pytest.mark.parametrize(
    ("truth", "predictions", "message"),
    [
        ({"a": ["x"]}, {"a": None}, r"predictions\.json: a: expected a string, got None"),
        ({"a": ["x"]}, {"a": ["x"]}, r"a: expected a string, got \['x'\]"),
        ({"a": ["x"]}, {"a": 3}, r"a: expected a string, got 3"),
        ({"a": ["x"]}, ["x"], r"predictions\.json: expected an object, got \['x'\]"),
        ({"a": []}, {"a": "x"}, r"x\.jsonl: question 'a' has no answers; expected one or more"),
        ({}, {"a": "x"}, r"has no questions to score"),
    ],
)
def test_what_crashes_the_official_script(score, truth, predictions, message):
    with pytest.raises(InputError, match=message):
        score(truth, predictions)


def test_nothing_left_to_score(score):
    with pytest.raises(InputError, match=r"has no prediction for any question of x, so nothing is left to score"):
        score(TRUTH, {}, skip_no_answer=True)


def test_a_question_twice_is_refused_where_the_official_script_takes_the_last(write, predict):
    path = write("x.jsonl", line(("a", ["x"])), line(("a", ["y"])))
    with pytest.raises(InputError, match=r"x\.jsonl: question 'a' is also in x\.jsonl"):
        evaluate(path, predict({"a": "x"}))


# --- SQuAD 2 ------------------------------------------------------------------------------------------------------


def squad2(*questions):
    qas = [
        {
            "id": id,
            "question": "?",
            "answers": [{"text": text, "answer_start": "a the x y".index(text)} for text in texts],
        }
        for id, *texts in questions
    ]
    return {"data": [{"title": "", "paragraphs": [{"context": "a the x y", "qas": qas}]}]}


def test_unanswerable_questions_stand_apart_and_leave_the_official_numbers(write, predict):
    truth = squad2(("a", "x y", "x"), ("b", "the"), ("c",), ("d",), ("e",))
    found = evaluate(write("x.json", truth), predict({"a": "x", "b": "", "c": "", "d": "y"}))
    assert official_text(found) == '{"exact_match": 100.0, "f1": 50.0}\n'  # "the" and "": equal, and nothing is shared
    expected = {
        "F1 (SQuAD 2)": 60.0,  # a, b and c of five
        "EM (SQuAD 2)": 60.0,
    }
    assert means(found) == {"EM": 100.0, "F1": 50.0, **expected}
    assert {name: found.summaries[name].turns for name in ("F1", "F1 (SQuAD 2)")} == {"F1": 2, "F1 (SQuAD 2)": 5}


def test_only_unanswerable_questions(write, predict):
    found = evaluate(write("x.json", squad2(("a",))), predict({"a": ""}))
    assert found.skipped["F1"].startswith("no question has an answer") and means(found)["F1 (SQuAD 2)"] == 100
    assert official_text(found) == "{}\n"


# --- several data sets --------------------------------------------------------------------------------------------


@pytest.fixture
def folder(write):
    for name, ids in {"SQuAD": "kb", "NewsQA": "c", "DROP": "d", "RACE": "ef", "mine": "g"}.items():
        write(f"in/{name}.jsonl", line(*[(id, [id]) for id in ids]))
    return write("in/README.txt").parent


def test_macro_averages_count_each_set_the_same(folder, predict):
    found = evaluate(folder, predict({"k": "k", "c": "c", "d": "x", "e": "e", "f": "f"}))
    assert found.task.name == "mrqa"
    assert {name: mean for name, mean in means(found).items() if name.endswith("F1")} == {
        "DROP F1": 0, "NewsQA F1": 100, "RACE F1": 100, "SQuAD F1": 50, "mine F1": 0,
        "in-domain F1": 75, "out-of-domain F1": 50, "all F1": 50,
    }  # fmt: skip
    assert json.loads(official_text(found)) == {
        f"{name}_{measure}": value
        for name, value in {"DROP": 0, "NewsQA": 100, "RACE": 100, "SQuAD": 50, "mine": 0}.items()
        for measure in ("em", "f1")
    }


def test_questions_are_broken_down_by_set_and_domain(folder, predict):
    found = evaluate(folder, predict({"k": "k", "c": "c"}), breakdown=["dataset", "domain"]).breakdowns
    assert {group: by["all F1"].mean for group, by in found["dataset"].items()}["SQuAD"] == 50
    assert found["domain"]["in-domain"]["all F1"].mean == 75


def test_a_macro_averages_interval_draws_within_the_sets(write, predict):
    for name, count in {"SQuAD": 200, "DROP": 4}.items():
        write(f"in/{name}.jsonl", line(*[(f"{name}{n}", ["x"]) for n in range(count)]))
    answers = {f"SQuAD{n}": "x" for n in range(0, 200, 2)} | {"DROP0": "x", "DROP1": "x"}
    found = evaluate(write("in/x.txt").parent, predict(answers)).summaries
    assert found["all F1"].mean == 50
    assert found["SQuAD F1"].high - found["SQuAD F1"].low < 20 < found["all F1"].high - found["all F1"].low
    assert found["all F1"].low >= 0 and found["all F1"].high <= 100


@pytest.mark.parametrize(
    ("file", "domain", "system", "f1", "em"),
    [
        ("in-domain", "in-domain", "D-NET (Baidu)", 84.13, 74.72),
        ("in-domain", "in-domain", "BERT large baseline (MRQA Organizers)", 76.33, None),
        ("ood", "out-of-domain", "BERT large baseline (MRQA Organizers)", 57.06, None),
        ("ood", "out-of-domain", "D-NET (Baidu)", 69.66, 57.81),
    ],
)
def test_published_macro_figures(data, file, domain, system, f1, em):
    """By the functions that ``evaluate`` groups and averages with, from each system's figures for six data sets."""
    board = json.loads((data / "mrqa" / f"{file}-dev-results.json").read_text())["leaderboard"]
    entries = [entry["scores"] for entry in board if entry["submission"]["description"] == system]
    for measure, published in (("f1", f1), ("em", em)):
        figures = {
            ALIASES.get(name.removesuffix(f"_{measure}"), name.removesuffix(f"_{measure}")): value
            for name, value in entries[0].items()
            if re.search(f"_{measure}$", name)
        }
        ((average, members),) = averages(list(figures)).items()
        assert (average, len(members)) == (domain, 6)
        assert published in (None, round(sum(figures[name] for name in members) / len(members), 2))
