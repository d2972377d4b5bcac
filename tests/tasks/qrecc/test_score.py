"""Every worked case of the official evaluator (version 2021-10-04, executed), and what must hold beyond them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import strategies as st

from convqa.domain import TurnId
from convqa.errors import InputError
from convqa.evaluation import evaluate, official_text
from convqa.tasks.qrecc import scorers
from convqa.tasks.scores import AnswerScorer

DATA = Path(__file__).resolve().parents[3] / ".." / "shared" / "data"

TRUTH = [
    (1, "Who was Ada Lovelace?", ["u_p1"], "An English mathematician."),
    (2, "When was Ada Lovelace born?", ["u_p2", "v_p0"], "10 December 1815"),
    (3, "Where did Ada Lovelace die?", [], "in the city of London"),
    (4, "Did Ada Lovelace have children?", ["u_p9"], ""),
]
RUN = [
    (1, "whatever", {"x_p0": 9, "u_p1": 8}, "english mathematician"),
    (2, "When was she born?", {"v_p0": 1, "x_p0": 3, "y_p0": 2}, "December 10, 1815"),
    (3, None, {"u_p1": 1}, "London"),
    (4, "Did Ada Lovelace have any children", {"u_p9": 5, "u_p8": 5}, "three"),
]
OFFICIAL = ("QR", "MRR", "EM", "F1", "ROUGE1-R")


def truth_record(turn, rewrite="", passages=(), answer="", conversation=7):
    return {
        "Conversation_no": conversation,
        "Turn_no": turn,
        "Truth_rewrite": rewrite,
        "Truth_passages": list(passages),
        "Truth_answer": answer,
    }


def run_record(turn, rewrite=None, passages=None, answer=None, conversation=7):
    fields = {"Model_rewrite": rewrite, "Model_passages": passages, "Model_answer": answer}
    given_fields = {name: value for name, value in fields.items() if value is not None}
    return {"Conversation_no": conversation, "Turn_no": turn} | given_fields


@pytest.fixture
def score(tmp_path):
    def scored(truth, run, **options):
        (tmp_path / "ground-truth.json").write_text(json.dumps(truth))
        (tmp_path / "run.json").write_text(json.dumps(run))
        return evaluate(tmp_path, tmp_path, **options)

    return scored


def means(evaluation, names=OFFICIAL):
    return tuple(f"{evaluation.summaries[name].mean:.3f}" if name in evaluation.summaries else "-" for name in names)


T = [truth_record(*row) for row in TRUTH]
R = [run_record(*row) for row in RUN]


def changed(turn, **fields):
    """R with fields of one turn changed; None removes a field."""
    records = [dict(record) for record in R]
    record = next(record for record in records if record["Turn_no"] == turn)
    record.update(fields)
    for name in [name for name, value in fields.items() if value is None]:
        del record[name]
    return records


@pytest.mark.parametrize(
    ("run", "options", "expected"),
    [
        (R, {}, (0.533, 0.611, 0.333, 0.800, 0.622)),
        (R, {"eval_turn_one_rewrites": True}, (0.400, 0.611, 0.333, 0.800, 0.622)),
        (R, {"eval_missing_truth": True}, (0.533, 0.458, 0.250, 0.600, 0.467)),
        (R[:3], {}, (0.200, 0.417, 0.333, 0.800, 0.622)),
        (changed(2, Model_passages=None), {}, (0.533, 0.750, 0.333, 0.800, 0.622)),
        (changed(2, Model_passages={}), {}, (0.533, 0.500, 0.333, 0.800, 0.622)),
    ],
)
def test_worked_runs(score, run, options, expected):
    assert means(score(T, run, **options)) == tuple(f"{value:.3f}" for value in expected)


def test_scores_by_turn(score):
    scores = score(T, R).scores
    assert scores["QR"].values == pytest.approx((0.6, 0, 1))
    assert scores["MRR"].values == pytest.approx((1 / 2, 1 / 3, 1))
    assert scores["F1"].values == pytest.approx((1, 1, 0.4))
    assert [id.number for id in scores["MRR"].ids] == [1, 2, 4]


@pytest.mark.parametrize(
    ("truth", "model", "expected"),
    [
        ("What's Café U.S.A.?", "what s caf usa", "0.500"),
        ("the the the cat", "the cat cat", "0.500"),
        ("İstanbul ve Ankara", "istanbul ve ankara", "0.500"),
    ],
)
def test_qr_of_one_turn(score, truth, model, expected):
    assert means(score([truth_record(2, truth)], [run_record(2, model)]), ["QR"]) == (expected,)


def test_qr_is_not_skipped_for_a_rewrite_of_turn_one_only(score):
    truth = [truth_record(1, "one"), truth_record(2, "two")]
    assert means(score(truth, [run_record(1, "one"), run_record(2)]), ["QR"]) == ("0.000",)


def test_qr_is_skipped_if_all_rewrites_are_null(score):
    run = [{"Conversation_no": 7, "Turn_no": 2, "Model_rewrite": None}]
    evaluation = score([truth_record(2, "two")], run)
    assert means(evaluation, ["QR"]) == ("-",)
    assert evaluation.skipped["QR"] == "the run has no rewrites"


@pytest.mark.parametrize(("missing", "expected"), [(False, "1.000"), (True, "0.500")])
def test_qr_of_missing_truth(score, missing, expected):
    truth = [truth_record(2, ""), truth_record(3, "right")]
    run = [run_record(2, "something"), run_record(3, "right")]
    assert means(score(truth, run, eval_missing_truth=missing), ["QR"]) == (expected,)


@pytest.mark.parametrize(
    ("passages", "relevant", "expected"),
    [
        ({"a": 1, "b": 1}, "a", "0.500"),
        ({"a": 1, "b": 1}, "b", "1.000"),
        ({"u_p10": 1, "u_p9": 1}, "u_p10", "0.500"),
        ({"u_p10": 1, "u_p9": 1}, "u_p9", "1.000"),
        ({"a": 15.0000002, "b": 15.0000001}, "b", "1.000"),
        ({f"p{rank:03}": -rank for rank in range(1, 1501)}, "p150", "0.007"),
    ],
)
def test_mrr_of_one_turn(score, passages, relevant, expected):
    assert means(score([truth_record(1, "", [relevant])], [run_record(1, None, passages)]), ["MRR"]) == (expected,)


def test_mrr_has_no_cutoff(score):
    passages = {f"p{rank:04}": -rank for rank in range(1, 1501)}
    evaluation = score([truth_record(1, "", ["p1500"])], [run_record(1, None, passages)])
    assert evaluation.summaries["MRR"].mean == 1 / 1500
    assert evaluation.summaries["MRR@10"].mean == 0


@pytest.mark.parametrize(
    ("truth", "model", "expected"),
    [
        ("The Eiffel Tower, Paris.", "eiffel tower paris", ("1.000", "1.000", "0.750")),
        ("the cat sat on the mat", "a cat on a mat today", ("0.000", "0.750", "0.500")),
        ("The.", "a", ("1.000", "1.000", "0.000")),
        ("The.", "the dog", ("0.000", "0.000", "1.000")),
        ("“hello” world", "hello world", ("0.000", "0.500", "1.000")),
        ("1999–2001", "1999-2001", ("0.000", "0.000", "1.000")),
        ("$71,369.", "71369", ("1.000", "1.000", "0.000")),
    ],
)
def test_answer_of_one_turn(score, truth, model, expected):
    evaluation = score([truth_record(1, "", [], truth)], [run_record(1, None, None, model)])
    assert means(evaluation, ["EM", "F1", "ROUGE1-R"]) == expected


def test_missing_answer_to_missing_truth(score):
    truth = [truth_record(1, "", [], ""), truth_record(2, "", [], "x")]
    evaluation = score(truth, [run_record(2, None, None, "y")], eval_missing_truth=True)
    assert evaluation.scores["EM"].values == (1, 0)
    assert evaluation.scores["F1"].values == (1, 0)
    assert evaluation.scores["ROUGE1-R"].values == (0, 0)


@pytest.mark.parametrize(("truth", "run"), [(T, []), ([], R), ([], [])])
def test_nothing_to_score(score, truth, run):
    evaluation = score(truth, run)
    assert means(evaluation) == ("-",) * 5
    assert official_text(evaluation) == ""


def test_a_single_blank_is_an_answer_and_no_answer_of_a_used_turn_skips(score):
    assert means(score([truth_record(1, "", [], " ")], [run_record(1, None, None, "x")]), ["EM"]) == ("0.000",)
    unused = score([truth_record(1, "", [], "x"), truth_record(2)], [run_record(2, None, None, "y")])
    assert unused.skipped["F1"] == "no turn with a true answer has Model_answer"


def test_of_repeated_run_turns_the_last_value_counts(score, caplog):
    run = [run_record(1, None, None, "x"), run_record(1, None, None, "y"), run_record(1, None, {"a": 1})]
    evaluation = score([truth_record(1, "", ["a"], "y")], run)
    assert means(evaluation, ["MRR", "EM"]) == ("1.000", "1.000")
    assert "2 repeated turns; the last record counts" in caplog.text


def test_repeated_truth_turns_collapse_for_em_and_f1_only(score):
    truth = [truth_record(1, "", [], "x"), truth_record(1, "", [], "y")]
    evaluation = score(truth, [run_record(1, None, None, "x")])
    assert evaluation.scores["EM"].values == (0,)
    assert evaluation.scores["ROUGE1-R"].values == (1, 0)


def test_float_numbers_are_truncated_as_officially(score):
    run = [{"Conversation_no": 7.0, "Turn_no": 1.9, "Model_answer": "x"}]
    assert means(score([truth_record(1, "", [], "x")], run), ["EM"]) == ("1.000",)


def test_conversation_numbers_match_as_text(score):
    evaluation = score([truth_record(1, "", [], "x", "c 1")], [run_record(1, None, None, "x", "c 1")])
    assert means(evaluation, ["EM"]) == ("1.000",)
    assert means(score([truth_record(1, "", [], "x", 1)], [run_record(1, None, None, "x", "1")]), ["EM"]) == ("1.000",)


@pytest.mark.parametrize(("option", "off"), [("no_rewriting", [0]), ("no_retrieval", [1]), ("no_answering", [2, 3, 4])])
def test_parts_can_be_left_out(score, option, off):
    found = means(score(T, R, **{option: True}))
    assert [index for index, mean in enumerate(found) if mean == "-"] == off


def test_further_scorers_see_truth_and_answer(score, monkeypatch):
    def last_word(pairs):
        return [float(truth.split()[-1] == model) for truth, model in pairs]

    monkeypatch.setattr(scorers, "posscore", lambda _: AnswerScorer("POSSCORE", last_word, official=True))
    monkeypatch.setattr(scorers, "sas", lambda _: AnswerScorer("SAS(stub)", last_word))
    evaluation = score(T, R, sas="stub", posscore="v.vec")
    assert evaluation.scores["SAS(stub)"].values == (0, 0, 1)
    assert evaluation.to_json()["measures"]["SAS(stub)"]["mean"] == pytest.approx(1 / 3)
    # Only the named model's figure is official.
    assert official_text(evaluation).endswith('measure{\n  key: "POSSCORE"\n  value: "0.333"\n}')
    assert "stub" not in official_text(evaluation)


def test_posscore_comes_before_sas_as_officially(score, monkeypatch):
    for name in ("sas", "posscore"):
        made = AnswerScorer(name.upper(), lambda pairs: [1.0] * len(pairs), official=True)
        monkeypatch.setattr(scorers, name, lambda _, made=made: made)
    lines = official_text(score(T, R, sas="m", posscore="v.vec")).splitlines()
    assert [line.split('"')[1] for line in lines if "key" in line] == [*OFFICIAL, "POSSCORE", "SAS"]


def test_partial_and_foreign_turns_are_named(score, caplog):
    score(T, [*R[:3], run_record(9, None, None, "x")])
    assert "lacks 1 of the 4 turns of the truth" in caplog.text
    assert "ignored turns that are not in the truth: 1" in caplog.text
    assert "MRR leaves out turns that lack Model_passages: 1" in caplog.text


def test_the_turns_of_a_run_alone(score, caplog):
    alone = score(T, R[:2], partial=True, breakdown=["history"])
    assert caplog.text == ""
    assert means(alone) == means(score(T[:2], R[:2])) != means(score(T, R[:2]))
    assert alone.to_json()["options"]["partial"] is True
    assert alone.breakdowns["history"]["with history"]["F1"].turns == 1
    assert "lacks 2 of the 4 turns of the truth; --partial leaves them out" in caplog.text
    with pytest.raises(InputError, match=r"run\.json: has no turn of .*, so there is nothing to score with --partial"):
        score(T, [run_record(9)], partial=True)


# --- where the official script stops ----------------------------------------------------------------------------
# Tried with pytrec_eval and datasets 1.5.0, which it runs on.


@pytest.mark.parametrize("found", [None, 5])
@pytest.mark.parametrize("field", ["Truth_rewrite", "Truth_passages", "Truth_answer"])
def test_truth_of_another_type_is_refused(score, field, found):
    with pytest.raises(InputError, match=rf"record 1 \(turn 7_2\): {field}: expected .*, got {found}"):
        score([*T[:1], T[1] | {field: found}, *T[2:]], R)


@pytest.mark.parametrize("field", ["Truth_rewrite", "Truth_answer"])
def test_truth_that_is_missing_is_refused(score, field):
    incomplete = {name: value for name, value in T[1].items() if name != field}
    with pytest.raises(InputError, match=rf"ground-truth\.json: record 1 \(turn 7_2\): {field}: is missing"):
        score([*T[:1], incomplete, *T[2:]], R)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("Model_passages", [], r"expected an object, got \[\]"),
        ("Model_passages", None, "expected an object, got None"),
        ("Model_passages", {"": 1}, "expected passage ids that are not empty"),
        ("Model_passages", {"a": "1"}, r"a: expected a number, got '1'"),
        ("Model_passages", {"a": None}, "a: expected a number, got None"),
        ("Model_passages", {"a": math.nan}, r"expected scores without NaN, got \{'a': nan\}"),
        ("Model_passages", {"a\ud800": 1}, r"expected text without lone surrogates, got .*ud800"),
        ("Model_answer", 3, "expected a string, got 3"),
        ("Model_answer", "x\udfff", "expected text without lone surrogates, got 'x.udfff'"),
        ("Model_rewrite", ["x"], r"expected a string, got \['x'\]"),
    ],
)
def test_what_the_script_cannot_read_is_refused(score, field, value, message):
    with pytest.raises(InputError, match=rf"run\.json: record 1 \(turn 7_2\): {field}.*{message}"):
        score(T, [*R[:1], R[1] | {field: value}, *R[2:]])


@pytest.mark.parametrize(
    ("passages", "expected"),
    [
        ({"b": math.inf, "a": 2}, "0.500"),
        ({"b": -1e39, "a": 2}, "1.000"),
        ({"a": 1e39, "b": math.inf}, "0.500"),
        ({"a": 10**30, "b": 1}, "1.000"),
    ],
)
def test_scores_beyond_32_bits_are_infinite(score, passages, expected):
    assert means(score([truth_record(1, "", ["a"])], [run_record(1, None, passages)]), ["MRR"]) == (expected,)


@pytest.mark.parametrize(
    ("passages", "relevant", "expected"),
    [
        ({"\0x": 1, "a": 2}, [], "0.500"),
        ({"u\0x": 1, "a": 2}, ["u"], "0.500"),
        ({"u": 1, "a": 2}, ["u\0y"], "0.500"),
        ({"u\0x": 1, "u": 2}, ["u"], "0.000"),
    ],
)
def test_ids_end_at_nul(score, passages, relevant, expected):
    evaluation = score([truth_record(1, "", relevant)], [run_record(1, None, passages)], eval_missing_truth=True)
    assert means(evaluation, ["MRR"]) == (expected,)


def test_turn_numbers_are_any_numbers(score):
    run = [run_record(-3, "two", None, "x"), run_record(1.5, "one two")]
    truth = [truth_record(-3, "two", (), "x"), truth_record(1.5, "one two three four")]
    evaluation = score(truth, run)
    # 1.5 is more than 1, and called 1.
    assert means(evaluation, ["QR", "EM"]) == ("0.500", "1.000")
    assert [str(id) for id in evaluation.scores["QR"].ids] == ["7_1"]


# --- breakdowns ---------------------------------------------------------------------------------------------------


def test_breakdown_by_history_and_by_field(score):
    truth = [record | {"source": "quac" if record["Turn_no"] < 3 else "trec"} for record in T]
    breakdowns = score(truth, R, breakdown=["history", "source"]).breakdowns
    assert breakdowns["history"]["empty history"]["F1"].turns == 1
    assert breakdowns["history"]["with history"]["F1"].mean == pytest.approx(0.7)
    assert {group: by["MRR"].turns for group, by in breakdowns["source"].items()} == {"quac": 2, "trec": 1}
    assert breakdowns["source"]["quac"]["MRR"].mean == pytest.approx(5 / 12)


def test_breakdown_by_history_believes_the_questions_beside_the_truth(score, tmp_path):
    asked = [
        {"Conversation_no": 7, "Turn_no": 1, "Question": "and she?", "Context": ["Who was it?", "Ada."]},
        {"Conversation_no": 8, "Turn_no": 1, "Question": "who?"},
    ]
    (tmp_path / "questions.json").write_text(json.dumps(asked))
    truth = [truth_record(1, "", [], "x"), truth_record(1, "", [], "x", 8)]
    evaluation = score(
        truth, [run_record(1, None, None, "x"), run_record(1, None, None, "y", 8)], breakdown=["history"]
    )
    found = {group: by["EM"].mean for group, by in evaluation.breakdowns["history"].items()}
    assert found == {"empty history": 0, "with history": 1}


def test_breakdown_by_depth_counts_what_was_before(score, tmp_path):
    numbers = (1, 2, 3, 4, 5, 8, 9)
    truth = [truth_record(number, "", [], "x") for number in numbers]
    run = [run_record(number, None, None, "x") for number in numbers]
    by_number = score(truth, run, breakdown=["depth"]).breakdowns["depth"]
    counts = {group: by["EM"].turns for group, by in by_number.items()}
    assert counts == {"turn 1": 1, "turn 2": 1, "turns 3-4": 2, "turns 5-8": 2, "turns 9 and on": 1}
    asked = [{"Conversation_no": 7, "Turn_no": number, "Question": "q"} for number in numbers]
    asked[1]["Context"] = ["q", "a"] * 6
    (tmp_path / "questions.json").write_text(json.dumps(asked))
    by_place = score(truth, run, breakdown=["depth"]).breakdowns["depth"]
    counts = {group: by["EM"].turns for group, by in by_place.items()}
    assert counts == {"turn 1": 1, "turns 3-4": 2, "turns 5-8": 4}  # places 1, 7 (six exchanges before), 3 to 7


def test_breakdown_by_what_can_be_answered(score):
    truth = [record | {"Answerable": record["Turn_no"] != 2} for record in T]
    groups = score(truth, R, breakdown=["answerable"]).breakdowns["answerable"]
    assert {group: by["F1"].turns for group, by in groups.items()} == {"no": 1, "yes": 2}


def test_the_first_turn_is_the_one_with_the_lowest_number(score):
    breakdowns = score([truth_record(5, "", [], "x"), truth_record(3, "", [], "x"), *T], R, breakdown=["history"])
    assert breakdowns.breakdowns["history"]["empty history"]["F1"].turns == 1
    other = score(list(reversed(T)), R, breakdown=["history"])
    assert other.breakdowns["history"]["empty history"]["MRR"].mean == 0.5


# --- properties ---------------------------------------------------------------------------------------------------

texts = st.text(max_size=12)
turns = st.lists(
    st.tuples(texts, st.dictionaries(st.text(min_size=1, max_size=4), st.floats(-1e3, 1e3), max_size=5), texts),
    min_size=1,
    max_size=6,
)


def by_turn(evaluation):
    return {name: dict(zip(scores.ids, scores.values, strict=True)) for name, scores in evaluation.scores.items()}


# --- recorded figures ---------------------------------------------------------------------------------------------


def need(path):
    if not path.exists():
        pytest.skip(f"the shared data is not here: {path}")
    return path


def test_real_rewrites_score_as_with_the_library_of_the_official_script(score):
    """Expected: means of rouge_score 0.1.2 (use_stemmer=False) over the same 844 turns."""
    turns = json.loads(need(DATA / "qrecc" / "dev-turns.json").read_text())
    ids = [{"Conversation_no": turn["Conversation_no"], "Turn_no": turn["Turn_no"]} for turn in turns]
    copied = [id | {"Model_rewrite": turn["Question"]} for id, turn in zip(ids, turns, strict=True)]
    summary = score(turns, copied).summaries
    assert summary["QR"].turns == 844
    assert summary["QR"].mean == pytest.approx(0.571841615735564, abs=1e-12)


def test_recorded_quartiles_of_real_system_turns(score):
    """40 turns of a submission, in its authors' groups: best and worst quarter by QR, in it by MRR, in it by F1."""
    named = json.loads(need(DATA / "qrecc" / "example-turns.json").read_text())
    turns = [turn | {"group": name.split()} for name, members in named.items() for turn in members]
    scores = by_turn(score(turns, turns))

    def values(measure, *group):
        members = [turn for turn in turns if turn["group"][: len(group)] == list(group)]
        return [scores[measure][TurnId(turn["Conversation_no"], turn["Turn_no"])] for turn in members]

    best, worst = ("ROUGE1-R", ">", "Q3"), ("ROUGE1-R", "<", "Q1")
    assert min(values("QR", *best)) > max(values("QR", *worst))
    for qr in (best, worst):
        assert min(values("MRR", *qr, "MRR", ">", "Q3")) >= max(values("MRR", *qr, "MRR", "<", "Q1"))
        for mrr in (("MRR", ">", "Q3"), ("MRR", "<", "Q1")):
            group = (*qr, *mrr, "F1")
            assert min(values("F1", *group, ">", "Q3")) > max(values("F1", *group, "<", "Q1"))
