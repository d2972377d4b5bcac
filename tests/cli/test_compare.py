"""``convqa compare`` as a user calls it; the comparison itself: tests/experiments/test_compare.py."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from convqa.cli import application
from tests.cli.conftest import EXAMPLE


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Three runs of the example: the second is right in every conversation of even number, the third is the first."""
    truth = json.loads((EXAMPLE / "ground-truth.json").read_bytes())
    folders = []
    for name in ("base", "better", "copied"):
        records = []
        for turn in truth:
            right = name == "better" and turn["Conversation_no"] % 2 == 0
            passages = {**(dict.fromkeys(turn["Truth_passages"], 2.0) if right else {}), "x": 1.0}
            key = {name: turn[name] for name in ("Conversation_no", "Turn_no")}
            rewrite = turn["Truth_rewrite"] if right else "what"
            records.append({**key, "Model_rewrite": rewrite, "Model_passages": passages})
        folders.append(tmp_path_factory.mktemp("compare") / name / "trec")
        folders[-1].mkdir(parents=True)
        (folders[-1] / "run.json").write_text(json.dumps(records))
        (folders[-1] / "run.meta.json").write_text(json.dumps({"input": str(EXAMPLE)}))
    return [str(folder) for folder in folders]


def compare(*arguments):
    done = CliRunner().invoke(application(), ["compare", *arguments], env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.stderr
    return done.stdout


def test_the_table_fits_a_terminal_and_turns_are_those_of_the_ranking_measure(runs):
    text = compare(*runs, "--turns", "2")
    assert max(map(len, text.splitlines())) <= 80
    assert "better minus base" in text and "copied minus base" in text
    assert "MRR by depth: better minus base" in text
    assert "better: turns by MRR" in text and "copied: turns by MRR" not in text
    assert text.count("0.000 -> 1.000") == 1  # nothing was lost
    assert "rewrite before: what" in text


def test_what_was_asked_for_leads(runs):
    text = compare(*runs, "--measure", "QR", "--breakdown", "history", "--turns", "1")
    assert "QR by history" in text and "turns by QR" in text and "MRR" not in text


def test_json_has_all(runs):
    base, better, copied = runs
    made = json.loads(compare(copied, base, better, "--json", "--turns", "3"))
    assert made["against"] == "copied" and list(made["runs"]) == ["copied", "base", "better"]
    by_run = {(one["run"], one["measure"]): one for one in made["differences"]}
    base, better = by_run["base", "MRR"], by_run["better", "MRR"]
    assert [base[key] for key in ("difference", "low", "high", "p", "adjusted")] == [0, 0, 0, 1, 1]
    assert better["difference"] == better["mean"] > 0 and better["adjusted"] == 2 * better["p"] < 0.05
    assert len(made["turns"]["better"]) == 2 and made["turns"]["base"] == []
    assert made["turns"]["better"][0]["question"]
    assert set(made["breakdowns"]) == {"history", "depth"}


def test_a_table_in_markdown(runs):
    assert "| better | **" in compare(*runs, "--as", "markdown")
