"""``convqa evaluate`` and ``convqa validate`` as a user calls them; the measures themselves: tests/evaluation."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.cli.conftest import EXAMPLE


@pytest.fixture
def made(made_run, tmp_path):
    """A run of the small input, which the test may change."""
    return shutil.copytree(made_run, tmp_path / "run")


def test_the_table_and_the_official_file(call, small, made, tmp_path):
    code, out, err = call("evaluate", small, made, "--output", tmp_path / "scores", "--trec", "--breakdown", "history")
    assert (code, err) == (0, "")
    assert "QR" in out and "ROUGE1-R" in out and "history" in out
    text = (tmp_path / "scores" / "evaluation.prototext").read_text()
    assert text.startswith('measure{\n  key: "QR"') and 'key: "MRR"' in text
    turns = [json.loads(line) for line in (tmp_path / "scores" / "turns.jsonl").read_text().splitlines()]
    assert len(turns) == 34 and any("F1" in turn for turn in turns)
    assert {"run.trec", "truth.qrels"} <= {path.name for path in (tmp_path / "scores").iterdir()}


def test_the_official_long_options(call, small, made, tmp_path):
    arguments = [f"--input-dataset={small}", "--input-run", made, "--output", tmp_path / "o", "--no-rewriting"]
    assert call("evaluate", *arguments, "--eval-missing-truth", "--eval-turn-one-rewrites")[0] == 0
    assert '"QR"' not in (tmp_path / "o" / "evaluation.prototext").read_text()


def test_json(call, small, made):
    code, out, _ = call("evaluate", small, made, "--json")
    data = json.loads(out)
    assert data["task"] == "qrecc"
    assert call("evaluate", small, made, "--json", "--task", "qrecc")[1] == out
    assert code == 0 and 0 <= data["measures"]["F1"]["low"] <= data["measures"]["F1"]["mean"] <= 1


def test_citations_and_their_support(call, small, made, tmp_path):
    code, out, err = call("evaluate", small, made, "--support", "lexical", "--json", "--output", tmp_path / "o")
    measures = json.loads(out)["measures"]
    assert (code, err) == (0, "")
    assert 0 <= measures["Cited-F1"]["mean"] <= 1 and 0 <= measures["ALCE-R(lexical)"]["mean"] <= 1
    assert "ALCE" not in (tmp_path / "o" / "evaluation.prototext").read_text()
    assert "ALCE" not in call("evaluate", small, made)[1]


def test_what_run_limit_answered_alone(call, small, made):
    """The run has the example's first three conversations."""
    code, out, err = call("evaluate", EXAMPLE, made, "--json")
    assert code == 0 and "257 of the 291 turns" in err and "--partial" in err
    code, alone, err = call("evaluate", EXAMPLE, made, "--json", "--partial")
    assert (code, err) == (0, "") and json.loads(alone)["options"]["partial"]
    expected = json.loads(call("evaluate", small, made, "--json")[1])["measures"]
    assert json.loads(alone)["measures"] == expected != json.loads(out)["measures"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "TRUTH_DIR (--input-dataset) is missing"),
        (["{small}"], "RUN_DIR (--input-run) is missing"),
        (["{small}", "{small}"], "run.json"),
        (["{small}", "{made}", "--trec"], "--output DIR"),
        (["{small}", "{made}", "--input-dataset", "{small}"], "TRUTH_DIR is given twice"),
        (["{small}", "{made}", "--breakdown", "Sourc"], "'Sourc'"),
        (["{small}", "{made}", "--task", "qrec"], "Did you mean 'qrecc'"),
        (["{small}/absent", "{small}/absent"], "absent"),
    ],
)
def test_mistakes(call, small, made, arguments, message):
    code, _, err = call("evaluate", *[argument.format(small=small, made=made) for argument in arguments])
    assert code == 2 and message in err


def test_validate(call, small, made):
    assert call("validate", small, made)[0] == 0
    run = json.loads((made / "run.json").read_text())
    passages, run[0]["Model_passages"] = run[0]["Model_passages"], {"": 1.0}
    del run[1]
    (made / "run.json").write_text(json.dumps(run))
    code, out, err = call("validate", small, made)
    assert code == 2 and "2 problems" in out and len(err.splitlines()) == 2
    run[0]["Model_passages"] = passages
    (made / "run.json").write_text(json.dumps(run))
    assert call("validate", small, made)[1].endswith(": 1 problem\n")
