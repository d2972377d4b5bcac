"""The measures by hand, what counts for entries without an answer, and the truth against itself."""

from __future__ import annotations

import copy
import json
import logging

import pytest

from convqa.domain import TurnId
from convqa.evaluation import evaluate, official_text
from convqa.metrics.characters import rouge_l
from convqa.tasks.jwhr.score import MEASURES


def means(truth, run, **options):
    return {name: summary.mean for name, summary in evaluate(truth, run, **options).summaries.items()}


def by_turn(evaluation, name):
    column = evaluation.scores[name]
    return {id.conversation: value for id, value in zip(column.ids, column.values, strict=True)}


def test_the_golden_run_by_hand(made_up, golden):
    found = evaluate(made_up, golden)
    assert found.task.name == "jwhr"
    # 1 is answered from the right page, 2 from one of two, 3 refused, 101 failed; 101 and 102 have no true answer.
    assert by_turn(found, "Page F1") == {1: 1, 2: pytest.approx(2 / 3), 3: 0}
    assert by_turn(found, "Page precision") == {1: 1, 2: 1, 3: 0}
    assert by_turn(found, "Page recall") == {1: 1, 2: 1 / 2, 3: 0}
    # 1: 15 of the 39 characters of the gold quote in one span; the quote of 2 is whole.
    assert by_turn(found, "Quote recall") == {1: 15 / 39, 2: 1, 3: 0}
    said, true = (
        "毎年七月には川辺で灯籠祭りが開かれる。",
        "灯籠祭りは、架空川の川辺で毎年七月に開かれます。二日間で約三万人が訪れます。",
    )
    assert by_turn(found, "ROUGE-L")[2] == rouge_l(said, true).f1 > 0.3 and by_turn(found, "ROUGE-L")[3] == 0
    assert by_turn(found, "Valid citations") == {1: 1, 2: 1, 102: 1}  # of what was said, whatever the truth
    assert by_turn(found, "Answerability") == {1: 1, 2: 1, 3: 0, 101: 0, 102: 0}
    assert by_turn(found, "Refusal precision") == {3: 0}
    assert by_turn(found, "Refusal recall") == {101: 0, 102: 0}


@pytest.fixture
def refusing(golden, write):
    """The golden run, in which entry 101 did not fail but refused."""
    text = (golden / "run.jsonl").read_text(encoding="utf-8")
    assert text.count(',"failed":true') == 1
    return write(text.replace(',"failed":true', "").removesuffix("\n"), name="run.jsonl")


def test_to_refuse_is_not_to_fail(made_up, refusing):
    found = evaluate(made_up, refusing)
    assert by_turn(found, "Answerability") == {1: 1, 2: 1, 3: 0, 101: 1, 102: 0}
    assert by_turn(found, "Refusal precision") == {3: 0, 101: 1}
    assert by_turn(found, "Refusal recall") == {101: 1, 102: 0}


def test_what_failed_is_wrong_wherever_it_counts(write, entry, caplog):
    """Not a refusal where there is no answer, and nothing where there is one, whatever stands beside it."""
    failed = {"id": 7, "question": entry["question"], "references": [], "failed": True}
    unanswered = {name: value for name, value in entry.items() if name != "answer"}
    caplog.set_level(logging.WARNING, "convqa")
    assert one(unanswered, failed, write) == {"Answerability": 0, "Refusal recall": 0}
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == [
        "entries that failed, and count as wrong: 1"
    ]
    for run in (failed, {**entry, "failed": True}):
        found = one(entry, run, write)
        assert set(found.values()) == {0} and "Refusal precision" not in found and "Valid citations" not in found


def test_by_chunk(made_up, refusing):
    groups = evaluate(made_up, refusing, breakdown=["chunk", "file"]).breakdowns
    assert list(groups["chunk"]) == ["answered", "not_answered"]
    assert groups["chunk"]["answered"]["Answerability"].mean == pytest.approx(2 / 3)
    refused = groups["chunk"]["not_answered"]
    assert set(refused) == {"Answerability", "Refusal precision", "Refusal recall", "Valid citations"}
    assert refused["Answerability"].mean == 1 / 2
    assert refused["Refusal precision"].mean == 1 and refused["Refusal precision"].turns == 1
    assert groups["file"]["not_answered.jsonl"] == refused


def test_the_truth_itself_has_everything_right(made_up, card, tmp_path):
    with (tmp_path / "run.jsonl").open("w", encoding="utf-8") as run:
        run.writelines(path.read_text(encoding="utf-8") for path in sorted(made_up.iterdir()))
    found = means(made_up, tmp_path)
    assert found == {measure.name: 1 for measure in MEASURES}
    found = means(card, card)
    assert set(found.values()) == {1}
    # All is answered and nothing refused: there is neither precision nor recall of refusing.
    assert set(found) == {measure.name for measure in MEASURES if "Refusal" not in measure.name}


def test_what_an_entry_that_lacks_counts(made_up, golden, write, caplog):
    caplog.set_level(logging.WARNING, "convqa")
    lines = (golden / "run.jsonl").read_text(encoding="utf-8").splitlines()
    foreign = {"id": 9, "question": "?", "references": []}
    found = evaluate(made_up, write(*lines[:2], foreign, name="run.jsonl"))
    told = [record.getMessage().partition(": ")[2] for record in caplog.records]
    assert told == [
        "lacks 3 of the 5 entries of the truth; --partial leaves them out",
        "ignored entries that are not in the truth: 1",
    ]
    run = write(*lines[:2], name="run.jsonl")
    alone = evaluate(made_up, run, partial=True)
    assert by_turn(alone, "Answerability") == {1: 1, 2: 1}
    # Nobody is paid for what was not even tried, but for a refusal only.
    assert by_turn(found, "Answerability") == {1: 1, 2: 1, 3: 0, 101: 0, 102: 0}
    assert by_turn(found, "Refusal recall") == {101: 0, 102: 0} and "Refusal precision" not in found.scores
    assert by_turn(found, "ROUGE-L")[3] == 0


def changed(entry, **answer):
    found = copy.deepcopy(entry)
    found["answer"] |= answer
    return found


def one(truth, run, write):
    """The scores of a truth and a run of one entry."""
    found = evaluate(write(truth, name="truth.jsonl"), write(run, name="run.jsonl"))
    assert all(column.ids == (TurnId(7, 1),) for column in found.scores.values())
    return {name: column.values[0] for name, column in found.scores.items()}


def test_citations_that_lead_nowhere(write, entry):
    # No such reference, one that found nothing, one whose page has neither quote nor summary.
    entry["references"].append({"search": {"keywords": ["x"]}, "page": {"title": "京都", "url": ""}})
    said = changed(entry, sentences=[{"text": "首都です。", "citations": [0, 9, -1, 1, 2]}])
    found = one(entry, said, write)
    assert found["Valid citations"] == 1 / 5
    assert found["Page precision"] == 1 / 2  # the page 京都 is named, and wrong; the others are no page
    assert found["Page recall"] == 1
    nowhere = changed(entry, sentences=[{"text": "首都です。", "citations": [9]}])
    assert [one(entry, nowhere, write)[name] for name in ("Valid citations", "Page F1")] == [0, 0]


def test_an_answer_without_citations_or_without_a_text(write, entry):
    uncited = changed(entry, sentences=[{"text": "首都です。", "citations": []}])
    found = one(entry, uncited, write)
    assert "Valid citations" not in found and found["Page F1"] == found["Quote recall"] == 0
    assert found["ROUGE-L"] == found["F1"] == found["Answerability"] == 1
    empty = one(entry, changed(entry, text=" ", sentences=[]), write)  # as good as none
    assert empty["Answerability"] == empty["Refusal precision"] == empty["F1"] == 0


def test_pages_are_compared_however_they_are_written(write, entry):
    said = copy.deepcopy(entry)
    said["references"][0]["page"] |= {
        "url": "http://ja.m.wikipedia.org/wiki/%E6%9D%B1%E4%BA%AC?oldid=3#x",
        "title": "?",
    }
    assert one(entry, said, write)["Page F1"] == 1
    said["references"][0]["page"] |= {"url": "", "title": "東京"}
    assert one(entry, said, write)["Page F1"] == 1
    said["references"][0]["page"]["url"] = "https://en.wikipedia.org/wiki/東京"
    assert one(entry, said, write)["Page F1"] == 0


def test_truths_that_cite_summaries_or_nothing_do_not_count_where_nothing_is_known(write, entry):
    summed = copy.deepcopy(entry)
    page = summed["references"][0]["page"]
    page["summary"] = {"text": page.pop("quote")["text"], "method": "x"}
    found = one(summed, entry, write)
    assert "Quote recall" not in found and found["Page F1"] == 1
    uncited = changed(entry, sentences=[{"text": "首都です。", "citations": []}])
    found = one(uncited, entry, write)
    assert not {"Page F1", "Quote recall"} & set(found) and found["F1"] == 1


def test_measures_without_entries_have_a_reason(write, entry):
    del entry["answer"]
    found = evaluate(write(entry, name="truth.jsonl"), write(entry, name="run.jsonl"))
    assert set(found.skipped) == {"ROUGE-L", "F1", "Page F1", "Quote recall", "Valid citations"}
    assert json.loads(official_text(found)) == {"Answerability": 1}
