"""ALCE's measures of a run: sentences against what they cite, by whichever scorer of support."""

from __future__ import annotations

import json

import pytest

from convqa.metrics.alce import CitedSentence
from convqa.models import load_support
from convqa.tasks.jwhr.schema import JWHREntry
from convqa.tasks.jwhr.score import cited_sentences
from convqa.tasks.jwhr.task import JWHR
from convqa.tasks.scores import SupportOptions


class Within:
    """Evidence supports what stands in it; keeps what it was asked."""

    name = "within"
    identity = "within-1"

    def __init__(self):
        self.asked = []

    def score(self, pairs, language="en"):
        self.asked += [(*pair, language) for pair in pairs]
        return [0.5 if sentence.strip("。") in evidence else 0.49 for evidence, sentence in pairs]


def page(text=None, title="東京", kind="quote"):
    source = {} if text is None else {kind: {"text": text, "method": "x"} if kind == "summary" else {"text": text}}
    return {"search": {"keywords": []}, "page": {"title": title, "url": "https://ja.wikipedia.org/wiki/x", **source}}


def said(*sentences, references=()):
    """A run's entry with these sentences: (text, places that it cites)."""
    parts = [{"text": text, "citations": list(places)} for text, places in sentences]
    text = "".join(text for text, _ in sentences)
    return {"id": 7, "question": "東京とは?", "answer": {"text": text, "sentences": parts}, "references": [*references]}


@pytest.fixture
def alce(write, entry):
    """Recall and precision of a run of one entry, and what its scorer was asked; None: it does not count."""

    def measure(run, truth=entry):
        support, task = Within(), JWHR()
        gold, found = task.gold(write(truth, name="truth.jsonl")), task.read_run(write(run, name="run.jsonl"))
        columns = {column.measure.name: column for column in task.score(gold, found, SupportOptions(support))}
        recall, precision = columns["ALCE-R(within)"], columns.get("ALCE-P(within)")
        return (recall.values + precision.values if precision else recall.skipped), support.asked

    return measure


def test_a_premise_is_the_quote_under_the_title_of_its_page(alce):
    references = [page("東京は首都である。"), page("大きい。", title=" "), page("広い。", kind="summary")]
    found = alce(said(("首都である。", [0]), ("大きい。", [1]), ("広い。", [2]), references=references))
    assert found == ((1, 1), [
        ("Title: 東京\n東京は首都である。", "首都である。", "ja"),
        ("大きい。", "大きい。", "ja"),
        ("Title: 東京\n広い。", "広い。", "ja"),
    ])  # fmt: skip


def test_recall_and_precision_by_hand(alce):
    # Supported by the first of two; not supported; without a citation.
    references = [page("東京は首都である。"), page("犬。")]
    run = said(("首都である。", [0, 1]), ("大きい。", [0]), ("広い。", []), references=references)
    assert alce(run)[0] == pytest.approx((1 / 3, 1 / 3))
    # It counts whatever the truth is, and a title can make a sentence good.
    unanswered = {"id": 7, "question": "東京とは?", "references": []}
    assert alce(said(("東京", [0]), references=[page("首都である。")]), unanswered)[0] == (1, 1)


def test_what_is_not_there_supports_nothing(alce):
    # No quote, nothing found: a citation that was not needed. No such reference: the sentence's are not counted.
    good, useless = page("首都である。"), page()
    nothing = {"search": {"keywords": []}, "not_found": {"url": "x"}}
    assert alce(said(("首都である。", [0, 1, 2]), references=[good, useless, nothing]))[0] == pytest.approx((1, 1 / 3))
    assert alce(said(("東京", [0]), references=[useless]))[0] == (0, 0)
    for place in (1, -1):
        found = alce(said(("首都である。", [0]), ("首都である。", [0, place]), references=[good]))
        assert found[0] == (1 / 2, 1)


def test_an_answer_without_sentences_is_one_that_cites_nothing(alce):
    run = said(("首都です。", []), references=[page("首都です。")])
    run["answer"]["sentences"] = []
    assert cited_sentences(JWHREntry.model_validate(run)) == [CitedSentence("首都です。", ())]
    assert alce(run) == ((0, 0), [])


def test_who_says_nothing_is_not_counted(alce, entry):
    silent = {"id": 7, "question": "東京とは?", "references": []}
    assert cited_sentences(JWHREntry.model_validate(silent)) == []
    for run in (silent, {**silent, "failed": True}, {**entry, "failed": True}):
        assert alce(run) == ("no turn counts for it", [])


@pytest.fixture
def lexical(japanese):
    return load_support("lexical")


def test_on_the_command_line(call, made_up, golden, lexical, tmp_path):
    (tmp_path / "run.jsonl").write_bytes((golden / "run.jsonl").read_bytes())
    code, out, _ = call("evaluate", made_up, tmp_path, "--task", "jwhr", "--support", "lexical", "--json")
    report = json.loads(out)
    assert code == 0 and report["measures"]["ALCE-R(lexical)"]["mean"] == 1
    assert report["options"]["support"] == lexical.identity
