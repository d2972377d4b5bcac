"""PolEval from file to score on the command line, and pipelines that rank for it."""

from __future__ import annotations

import json

import pytest

from convqa.pipeline.load import load


@pytest.mark.usefixtures("polish")
def test_from_file_to_score(call, one_set, tmp_path):
    code, out, err = call("run", one_set, tmp_path / "run")
    assert code == 0 and "3 turns of 3 conversations" in out and "0 failed" in out
    assert "out.tsv: 3 of 3 lines have fewer than 10 passages, 0 of them none" in err
    lines = (tmp_path / "run" / "out.tsv").read_text().splitlines()
    assert [line.split("\t")[0] for line in lines] == ["2-0", "3-0", "1-0"]
    assert call("validate", one_set, tmp_path / "run")[:2] == (0, f"{tmp_path / 'run'}: ok\n")

    code, out, err = call("evaluate", one_set, tmp_path / "run", "--output", tmp_path / "scores", "--json")
    report = json.loads(out)
    assert (code, err, report["task"]) == (0, "", "poleval")
    assert {name: measure["mean"] for name, measure in report["measures"].items()} == {"NDCG@10": 1}
    assert (tmp_path / "scores" / "evaluation.json").read_text() == '{"NDCG@10": 1.0}\n'
    turns = [json.loads(line) for line in (tmp_path / "scores" / "turns.jsonl").read_text().splitlines()]
    assert turns == [{"id": line, "NDCG@10": 1} for line in (1, 2, 3)]
    collection = one_set.parent / "wiki-trivia" / "passages.jl"
    assert call("run", one_set, tmp_path / "given", "--collection", collection, "--quiet")[0] == 0
    assert (tmp_path / "given" / "out.tsv").read_text().splitlines() == lines


@pytest.mark.usefixtures("polish")
def test_each_question_is_asked_of_its_own_set(call, two_sets, tmp_path):
    assert call("run", two_sets, tmp_path / "run", "--quiet")[0] == 0
    lines = (tmp_path / "run" / "out.tsv").read_text().splitlines()
    # The law that speaks of a river has the id of a river's passage.
    assert [line.split("\t")[0] for line in lines] == ["2-0", "3-0", "1-0", "2-0"]
    first = json.loads((tmp_path / "run" / "responses.jsonl").read_text().splitlines()[0])
    assert all(hit[0].startswith("wiki-trivia/") for hit in first["ranking"])
    assert call("validate", two_sets, tmp_path / "run")[:2] == (0, f"{tmp_path / 'run'}: ok\n")
    code, out, _ = call("evaluate", two_sets, tmp_path / "run", "--json")
    assert code == 0 and len(json.loads(out)["measures"]) == 4


@pytest.mark.usefixtures("polish")
def test_the_competitions_folder(call, competition, tmp_path):
    assert call("index", competition, "--task", "poleval", "--collection", tmp_path / "kept")[0] == 0
    arguments = (competition / "questions.jl", tmp_path / "run", "--collection", tmp_path / "kept", "--quiet")
    assert call("run", *arguments)[0] == 0
    code, out, err = call("evaluate", competition, tmp_path / "run", "--json", "--breakdown", "set")
    assert code == 2 and "no record has the field 'set'" in err
    code, out, err = call("evaluate", competition, tmp_path / "run", "--json")
    assert code == 0 and json.loads(out)["measures"]["NDCG@10"] == {"mean": 1, "low": 1, "high": 1, "turns": 2}
    assert "left out 1 of 3 questions" in err


def test_a_mistake_is_told_with_its_place(call, one_set, competition, tmp_path):
    (one_set / "in.tsv").write_text("wiki-trivia\tKto?\nCo?\n")
    code, _, err = call("run", one_set, tmp_path / "run")
    assert code == 2 and f"{one_set / 'in.tsv'}: line 2: expected in.tsv" in err
    (competition / "passages.jl").write_text('{"id": "1", "text": "a"}\n{"id": 1, "text": "b"}\n')
    code, _, err = call("run", competition, tmp_path / "run")
    assert code == 2 and "two passages have the id '1'" in err
    (competition / "passages.jl").unlink()
    code, _, err = call("run", competition, tmp_path / "run")
    assert code == 2 and "passages.jsonl.gz, and for the task's own passages.jl (" in err
    assert not (tmp_path / "run").exists()


@pytest.fixture
def reranked(root, tmp_path):
    """The pipeline that docs/tasks/poleval.md shows."""
    page = (root / "docs" / "tasks" / "poleval.md").read_text(encoding="utf-8")
    path = tmp_path / "reranked.yaml"
    path.write_text(page.partition("```yaml\n")[2].partition("```")[0], encoding="utf-8")
    return path


def test_the_documented_pipeline_loads(reranked):
    assert load(str(reranked)).stages == {"rewrites", "rankings"}
