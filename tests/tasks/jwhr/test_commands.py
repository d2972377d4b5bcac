"""JWHR from file to score on the command line; Japanese needs the extra ja."""

from __future__ import annotations

import json

import pytest

from convqa.components.rewriters.copy import Copy
from convqa.domain import Query, Rewrite
from convqa.tasks.jwhr.task import JWHR


@pytest.mark.usefixtures("japanese")
def test_from_file_to_score(call, made_up, tmp_path):
    code, out, err = call("run", made_up, tmp_path / "run")
    assert (code, err) == (0, "") and "5 turns of 5 conversations" in out
    assert call("validate", made_up, tmp_path / "run")[:2] == (0, f"{tmp_path / 'run'}: ok\n")

    code, out, err = call("evaluate", made_up, tmp_path / "run", "--output", tmp_path / "scores", "--json")
    assert (code, err) == (0, "")
    report = json.loads(out)
    means = {name: measure["mean"] for name, measure in report["measures"].items()}
    assert report["task"] == "jwhr"
    assert means["Page recall"] == means["Valid citations"] == 1  # five easy questions
    assert json.loads((tmp_path / "scores" / "evaluation.json").read_text())["Page F1"] == means["Page F1"]
    turns = [json.loads(line) for line in (tmp_path / "scores" / "turns.jsonl").read_text().splitlines()]
    assert [turn["id"] for turn in turns] == [1, 2, 3, 101, 102] and "F1" not in turns[3]


@pytest.mark.usefixtures("japanese")
def test_a_turn_that_fails_in_the_rewriter_is_a_valid_entry_and_no_refusal(call, made_up, tmp_path, monkeypatch):
    def broken(self, turn):
        if turn.id.conversation in {101, 102}:
            raise ValueError("no")
        return Rewrite(f"{turn.question} 架空", (Query(turn.question),))

    monkeypatch.setattr(Copy, "rewrite", broken)
    code, out, _ = call("run", made_up, tmp_path / "run", "--set", "decider.min_score=0.0")
    assert code == 1 and "2 failed" in out
    assert call("validate", made_up, tmp_path / "run")[:2] == (0, f"{tmp_path / 'run'}: ok\n")
    code, out, err = call("evaluate", made_up, tmp_path / "run", "--breakdown", "chunk", "--json")
    assert code == 0 and "run.jsonl: entries that failed, and count as wrong: 2" in err
    refusals = json.loads(out)["breakdowns"]["chunk"]["not_answered"]
    assert {name: measure["mean"] for name, measure in refusals.items()} == {
        "Answerability": 0, "Refusal recall": 0,
    }  # fmt: skip


@pytest.mark.usefixtures("japanese")
def test_every_quote_of_a_run_is_of_the_collection(call, made_up, tmp_path):
    assert call("run", made_up, tmp_path / "run", "--quiet")[0] == 0
    texts = {}
    for passage in JWHR().passages(made_up):
        texts.setdefault(passage.url, []).append(passage.text)
    for entry in JWHR().read_run(tmp_path / "run").entries.values():
        assert entry.references
        for reference in entry.references if entry.answer else ():
            assert any(reference.page.quote.text in text for text in texts[reference.page.url])


@pytest.mark.usefixtures("japanese")
def test_the_collection_can_be_made_first(call, made_up, tmp_path):
    sources = sorted(made_up.iterdir())
    code, out, err = call("index", *sources, "--task", "jwhr", "--collection", tmp_path / "wiki")
    assert code == 0 and out.startswith("7 passages in ") and "(embedded, ja)" in out
    assert err.count("\n") == 1 and "convqa models get multilingual" in err
    assert call("run", made_up, tmp_path / "a", "--collection", tmp_path / "wiki", "--quiet")[0] == 0
    assert call("run", made_up, tmp_path / "b", "--quiet")[0] == 0
    assert (tmp_path / "a" / "run.jsonl").read_bytes() == (tmp_path / "b" / "run.jsonl").read_bytes()


def test_mistakes_of_index(call, made_up, write, tmp_path):
    code, _, err = call("index", "--task", "jwhr", "--collection", tmp_path / "wiki", "--vectors", "encoder")
    assert code == 2 and "--task requires SOURCES" in err
    mrqa = write({"context": "c", "qas": [{"qid": "q", "question": "?"}]}, name="mrqa.jsonl")
    code, _, err = call("index", mrqa, "--task", "mrqa", "--collection", tmp_path / "wiki")
    assert code == 2 and "an input of the task mrqa has no passages" in err
    assert not (tmp_path / "wiki").exists()


def test_a_fault_is_said_at_once_with_its_place(call, write, entry, golden, tmp_path):
    entry["answer"]["sentences"][0]["citations"] = [4]
    path = write(entry)
    for arguments in (("run", path, tmp_path / "run"), ("evaluate", path, golden), ("validate", path, golden)):
        code, out, err = call(*arguments)
        assert code == 2 and "Traceback" not in out + err
        assert f"{path}: line 1 (entry 7): answer.sentences[0].citations[0]: expected the index" in err
    assert not (tmp_path / "run").exists()


def test_validate_lists_problems(call, made_up, golden, tmp_path):
    first = (golden / "run.jsonl").read_text(encoding="utf-8").splitlines()[0]
    (tmp_path / "run.jsonl").write_text(first.replace('"citations":[0]', '"citations":[7]') + "\n", encoding="utf-8")
    code, out, err = call("validate", made_up, tmp_path)
    assert code == 2 and f"{tmp_path}: 2 problems" in out
    assert "line 1 (entry 1): answer.sentences[0].citations[0]: expected the index" in err and "2, 3, 101, 102" in err
