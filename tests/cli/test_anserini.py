"""A shared task's input as it is handed out: questions beside an Anserini index, nothing to be written there."""

from __future__ import annotations

import gzip
import json

import pytest

from convqa.domain.ranking import float32

PLAIN_ANSWERS = ("--set", "reader.type=sentences", "--set", "builder.type=sentences")
"""In place of TextBlob, whose corpora need not be there."""


@pytest.fixture
def handed_out(small, example, anserini_index):
    with gzip.open(example / "passages.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = [{"id": record["id"], "contents": record["text"]} for record in map(json.loads, lines)]
    anserini_index(records, folder=small / "passages-index-anserini")
    return small


def simple_searcher(index, questions):
    """What the official baseline writes: its searcher's ids and scores, in order."""
    from convqa.stores.anserini.java import java_class

    searcher = java_class("io.anserini.search.SimpleSearcher")(str(index))
    searcher.set_bm25(0.82, 0.68)
    return [[(str(hit.docid), hit.score) for hit in searcher.search(text, 100)] for text in questions]


def test_the_simple_baseline_ranks_as_the_official_one_does(call, handed_out, tmp_path):
    before = {path: path.stat().st_mtime_ns for path in [handed_out, *handed_out.rglob("*")]}
    arguments = ("--input", handed_out, "--output", tmp_path / "out", "--pipeline", "qrecc-simple-baseline")
    code, _, err = call("run", *arguments, *PLAIN_ANSWERS, "--limit", 1)
    assert code == 0, err
    run = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))
    asked = json.loads((handed_out / "questions.json").read_text(encoding="utf-8"))
    questions = [turn["Question"] for turn in asked if turn["Conversation_no"] == 1]
    assert [turn["Model_rewrite"] for turn in run] == questions
    expected = simple_searcher(handed_out / "passages-index-anserini", questions)
    found = [[(id, float32(score)) for id, score in turn["Model_passages"].items()] for turn in run]
    assert found == expected
    assert {path: path.stat().st_mtime_ns for path in [handed_out, *handed_out.rglob("*")]} == before


def test_the_simple_baseline_answers_with_sentences_of_its_passages(call, handed_out, tmp_path):
    code, _, err = call("run", handed_out, tmp_path / "out", "--pipeline", "qrecc-simple-baseline", "--limit", 1)
    if "textblob" in err:
        assert code == 2
        pytest.skip(err)
    assert code == 0, err
    run = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))
    answers = [turn["Model_answer"] for turn in run]
    assert any(answers) and all(answer.endswith(".") for answer in answers if answer)
