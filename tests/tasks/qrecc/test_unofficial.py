"""Citations and refusals of a run against a truth that has gold passages, gold sentences and answerability."""

from __future__ import annotations

import json
import logging

import pytest

from convqa.evaluation import evaluate, official_text, write_turns
from convqa.models import load_support
from convqa.tasks.qrecc.run import Cited
from convqa.tasks.qrecc.unofficial import cited_sentences


def truth(turn, passages=(), answer="yes", **further):
    record = {"Conversation_no": 1, "Turn_no": turn, "Truth_rewrite": "", "Truth_answer": answer}
    return {**record, "Truth_passages": list(passages), **further}


def cite(id, text, sentence, start=0):
    return {"passage_id": id, "start": start, "end": start + len(text), "text": text, "sentence": sentence}


def said(turn, answer, citations=(), passages=("a", "b"), **further):
    record = {"Conversation_no": 1, "Turn_no": turn, "Model_passages": dict.fromkeys(passages, 1.0)}
    return {**record, "Model_answer": answer, "Model_citations": list(citations), **further}


@pytest.fixture
def scored(tmp_path):
    """The means of truth and run, by measure."""

    def score(truths, run, **options):
        (tmp_path / "ground-truth.json").write_text(json.dumps(truths))
        (tmp_path / "run.json").write_text(json.dumps(run))
        return evaluate(tmp_path, tmp_path, **options)

    return score


def means(evaluation, *names):
    return [evaluation.summaries[name].mean for name in names]


# --- cited passages -------------------------------------------------------------------------------------------------

TRUTHS = [truth(1, ["a", "c"]), truth(2, ["a"]), truth(3, ["a"]), truth(4, ["a"], answer=""), truth(5)]
RUN = [
    said(1, "One. Two.", [cite("a", "x", "One."), cite("b", "y", "One."), cite("a", "z", "Two.")]),
    said(2, "", []),
    said(4, "One.", [cite("b", "x", "One.")]),
    said(5, "One.", [cite("b", "x", "One.")]),
]


def test_cited_passages_over_answered_turns_with_gold_ones(scored):
    """Turn 1 cites a and b, wanted a and c; turn 2 is not answered, turn 3 not in the run: both count 0."""
    found = scored(TRUTHS, RUN)
    assert means(found, "Cited-P", "Cited-R", "Cited-F1") == pytest.approx([1 / 6, 1 / 6, 1 / 6])
    assert found.summaries["Cited-F1"].turns == 3


def test_a_turn_that_is_not_answered_cites_nothing_whatever_its_record_says(scored):
    quote = cite("a", "x", "One.")
    found = scored(TRUTHS, [said(1, "", [quote]), said(2, " ", [quote]), said(5, "One.", [quote])])
    assert means(found, "Cited-P", "Cited-R", "Cited-F1") == [0, 0, 0]


def test_a_run_without_citations_has_no_such_measures(scored):
    run = [{name: value for name, value in record.items() if name != "Model_citations"} for record in RUN]
    assert "Cited-F1" not in {one.name for one in scored(TRUTHS, run).measures}


def test_no_official_file_has_them_and_each_turn_does(scored, tmp_path):
    found = scored(TRUTHS, RUN)
    assert "Cited" not in official_text(found)
    rows = [json.loads(line) for line in write_turns(found, tmp_path / "turns.jsonl").read_text().splitlines()]
    assert rows[0]["Cited-F1"] == 0.5 and rows[1]["Cited-F1"] == 0 and "Cited-F1" not in rows[3]
    assert scored(TRUTHS, RUN, no_answering=True).skipped["F1"] == "not asked for"
    assert "Cited-F1" not in scored(TRUTHS, RUN, no_answering=True).summaries


def test_evidence_alone_counts_as_a_citation(scored, caplog):
    run = [
        {"Conversation_no": 1, "Turn_no": 1, "Model_answer": "x", "Model_evidence": {"passage_id": "c", "text": "x"}},
        {"Conversation_no": 1, "Turn_no": 2, "Model_answer": "x", "Model_evidence": {}},
        {"Conversation_no": 1, "Turn_no": 3, "Model_answer": "x", "Model_evidence": ["c", "x"]},
    ]
    with caplog.at_level(logging.WARNING, "convqa"):
        found = scored(TRUTHS, run, support="lexical")
    assert "ignored 1 Model_evidence" in caplog.text
    assert means(found, "Cited-P", "Cited-R") == pytest.approx([1 / 3, 1 / 6])
    assert found.skipped["ALCE-R(lexical)"] == "the run has no Model_citations"


@pytest.mark.parametrize("citations", [[cite("a", "x", "One.", start=-1)], ["a"], "a", {"a": [0, 1]}])
def test_citations_of_others_are_passed_over_with_one_warning(scored, caplog, citations):
    with caplog.at_level(logging.WARNING, "convqa"):
        found = scored(TRUTHS, [said(1, "One.", citations), said(2, "Two.", citations)])
    assert "ignored 2 Model_citations in another format than convqa's" in caplog.text
    assert "F1" in found.summaries and "Cited-F1" not in found.summaries


# --- answerability --------------------------------------------------------------------------------------------------


def test_refusals_by_answerable(scored, tmp_path):
    truths = [truth(turn, answer="", Answerable=turn > 2) for turn in range(1, 6)]
    run = [said(1, ""), said(2, "no idea"), said(3, " "), said(4, "x"), said(5, "x")]
    found = scored(truths, run)
    assert means(found, "Refusal-P", "Refusal-R", "Refusal-F1") == [0.5, 0.5, 0.5]
    assert found.summaries["Refusal-F1"].turns == 5
    low, high = found.summaries["Refusal-F1"].low, found.summaries["Refusal-F1"].high
    assert 0 <= low < 0.5 < high <= 1
    rows = [json.loads(line) for line in write_turns(found, tmp_path / "turns.jsonl").read_text().splitlines()]
    assert [row.get("Refusal-R") for row in rows] == [1, 0, None, None, None]
    assert "Answerable-AUC" not in found.summaries


def test_the_labels_of_mtrag(scored):
    labels = [
        ["ANSWERABLE"],
        ["PARTIAL"],
        ["UNANSWERABLE"],
        ["UNDERSPECIFIED"],
        ["ANSWERABLE", "UNANSWERABLE"],
        "x",
        [],
    ]
    truths = [truth(turn, Answerability=label) for turn, label in enumerate(labels, 1)]
    found = scored(truths, [said(turn, "") for turn in range(1, 8)])
    assert [id.number for id in found.scores["Refusal-F1"].ids] == [1, 2, 3]
    assert means(found, "Refusal-P", "Refusal-R", "Refusal-F1") == pytest.approx([1 / 3, 1, 0.5])


def test_without_a_refusal_there_is_no_precision(scored):
    truths = [truth(1, Answerable=False), truth(2, Answerable=True)]
    found = scored(truths, [said(1, "x"), said(2, "x")])
    assert "Refusal-P" not in found.summaries
    assert means(found, "Refusal-R", "Refusal-F1") == [0, 0]
    assert "Refusal-F1" not in scored(truths[1:], [said(2, "")]).summaries


def test_the_auc_of_the_runs_scores(scored):
    truths = [truth(turn, Answerable=turn > 2) for turn in range(1, 5)]
    scores = {1: 0.1, 2: 0.7, 3: 0.7, 4: 0.9}
    found = scored(truths, [said(turn, "x", Model_answer_score=score) for turn, score in scores.items()])
    assert means(found, "Answerable-AUC") == [0.875]
    without = scored(truths, [said(1, "x", Model_answer_score=0.1), said(2, "x"), said(3, "x"), said(4, "x")])
    assert means(without, "Answerable-AUC") == [0.25]


@pytest.mark.parametrize("score", [-0.1, 1.5, "0.5", True])
def test_scores_of_answers_that_are_not_from_0_to_1_are_passed_over(scored, caplog, score):
    with caplog.at_level(logging.WARNING, "convqa"):
        assert "F1" in scored(TRUTHS, [said(1, "x", Model_answer_score=score)]).summaries
    assert "ignored 1 Model_answer_score in another format than convqa's" in caplog.text


# --- support --------------------------------------------------------------------------------------------------------


def test_alce_over_all_sentences_of_an_answer(scored):
    """The second sentence cites what does not support it, the third nothing."""
    answer = "Goethe wrote Faust. He lived in Weimar. It is old."
    citations = [
        cite("a", "Faust was written by Goethe", "Goethe wrote Faust."),
        cite("b", "Cats sleep", "Goethe wrote Faust."),
        cite("b", "Cats sleep", "He lived in Weimar."),
    ]
    found = scored(TRUTHS[:2], [said(1, answer, citations), said(2, "")], support="lexical")
    assert means(found, "ALCE-R(lexical)", "ALCE-P(lexical)") == pytest.approx([1 / 3, 1 / 3])
    assert found.summaries["ALCE-R(lexical)"].turns == 1
    assert found.options["support"] == load_support("lexical").identity
    assert "ALCE" not in official_text(found)


def quote(sentence, text="q"):
    return Cited("p", None, None, text, sentence)


@pytest.mark.parametrize(
    ("answer", "quotes", "expected"),
    [
        ("", [], []),
        (" ", ["A."], []),
        ("A one. B two.", [], ["A one.", "B two."]),
        ("A one. B two. C three.", ["B two."], ["A one.", "B two.*", "C three."]),
        ("A. A.", ["A."], ["A.*", "A."]),
        ("東京は首都。大阪は府。", ["東京は首都。"], ["東京は首都。*", "大阪は府。"]),
        ("A one.", ["not there"], ["not there*", "A one."]),
        ("Both here and there. C.", ["Both here", "and there."], ["Both here*", "and there.*", "C."]),
    ],
)
def test_every_sentence_of_an_answer(answer, quotes, expected):
    found = cited_sentences(answer, [quote(sentence) for sentence in quotes])
    assert [claim + "*" * len(cited) for claim, cited in found] == expected
