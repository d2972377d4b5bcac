"""ShARC from file to score on the command line, in both forms."""

from __future__ import annotations

import json

import pytest


@pytest.mark.parametrize(("form", "turns"), [("official", 5), ("open", 4)])
def test_from_file_to_run(call, official, opened, form, turns, tmp_path):
    source = official if form == "official" else opened
    code, out, err = call("run", source, tmp_path / "run")
    assert (code, err) == (0, "") and f"{turns} turns of {turns} conversations" in out
    assert call("validate", source, tmp_path / "run")[:2] == (0, f"{tmp_path / 'run'}: ok\n")
    resolved = (tmp_path / "run" / "pipeline.resolved.yaml").read_text()
    assert ("retrievers.given.Given" in resolved) == (form == "official")  # each form has its own default pipeline
    records = json.loads((tmp_path / "run" / "predictions.json").read_text())
    wanted = "e9282accd6fcfbce424d3bfd2800541f30f7c335" if form == "official" else "208"
    assert wanted in records[3]["passages"] and all(record["answer"] for record in records)


def test_from_run_to_score(call, official, predict, tmp_path):
    records = json.loads((official / "sharc_dev.json").read_text())
    run = predict({record["utterance_id"]: record["answer"] for record in records})
    code, out, err = call("evaluate", official, run, "--output", tmp_path / "scores", "--json")
    assert (code, err) == (0, "") and json.loads(out)["task"] == "sharc"
    line = json.loads((tmp_path / "scores" / "evaluation.json").read_text())
    assert line == dict.fromkeys(("micro_accuracy", "macro_accuracy", "bleu_1", "bleu_2", "bleu_3", "bleu_4"), 1.0)
    turns = [json.loads(line) for line in (tmp_path / "scores" / "turns.jsonl").read_text().splitlines()]
    assert turns == [{"utterance_id": record["utterance_id"], "Micro accuracy": 1.0} for record in records]
