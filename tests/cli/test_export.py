"""``convqa export``: a real run in every format, and what a user can do wrong."""

from __future__ import annotations

import json
import shutil

import pytest

FORMATS = ["ikat", "text", "trec-rag"]


def rows(made_run):
    return json.loads((made_run / "run.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("format", FORMATS)
def test_every_turn_and_every_cited_passage_is_exported(call, made_run, tmp_path, format):
    file = tmp_path / "deep" / "file"
    code, out, err = call("export", made_run, "--as", format, "--output", file)
    assert (code, err) == (0, "")
    text = file.read_text(encoding="utf-8")
    for row in rows(made_run):
        for citation in row["Model_citations"]:
            assert citation["passage_id"] in text
    silent = sum(not row["Model_answer"] for row in rows(made_run))
    answers = len(rows(made_run)) - silent
    assert out == f"Written: {file}: {answers} answers, {silent} no-answers, 0 failed turns\n"


def test_standard_output_is_the_file(call, made_run, tmp_path):
    for format in FORMATS:
        file = tmp_path / format
        assert call("export", made_run, "--as", format, "--output", file)[0] == 0
        assert call("export", made_run, "--as", format)[1] == file.read_text(encoding="utf-8")


def test_names_of_run_and_team(call, made_run):
    _, out, _ = call("export", made_run, "--as", "ikat")
    assert json.loads(out.splitlines()[0])["metadata"]["run_id"] == "a run"
    _, out, _ = call("export", made_run, "--as", "trec-rag", "--run-id", "best", "--team-id", "us")
    metadata = json.loads(out.splitlines()[0])["metadata"]
    assert (metadata["run_id"], metadata["team_id"]) == ("best", "us")


def test_a_run_that_answers_nothing_by_its_pipeline(call, made_run, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    lines = (made_run / "responses.jsonl").read_text(encoding="utf-8").splitlines()
    without = [json.dumps({**json.loads(line), "answer": None}) + "\n" for line in lines]
    (folder / "responses.jsonl").write_text("".join(without), encoding="utf-8")
    file = tmp_path / "file"
    code, _, err = call("export", folder, "--as", "ikat", "--output", file)
    assert code == 2 and "has no answer" in err
    assert not file.exists()


def test_mistakes(call, made_run, tmp_path):
    file = tmp_path / "file"
    file.touch()
    for arguments, message in [
        ((tmp_path, "--as", "ikat"), f"{tmp_path}: no run: it has no responses.jsonl"),
        ((tmp_path / "none", "--as", "ikat"), "there is no such folder"),
        (
            (made_run, "--as", "icat"),
            "unknown format 'icat'",
        ),
        ((made_run, "--as", "ikat", "--output", file), f"--output {file}: already exists"),
        ((made_run, "--as", "ikat", "--output", file / "under"), "cannot be written"),
        ((made_run,), "Missing option '--as'"),
    ]:
        code, out, err = call("export", *arguments)
        assert (code, out) == (2, "") and message in " ".join(err.split())
    assert file.read_bytes() == b""


def test_half_a_wave_is_not_exported(call, made_run, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(made_run, folder)
    journal = folder / "responses.jsonl"
    journal.write_bytes(journal.read_bytes()[:-20])
    code, out, err = call("export", folder, "--as", "trec-rag")
    assert (code, out) == (2, "") and "Run again" in err
    (folder / "run.meta.json").unlink()
    code, out, _ = call("export", folder, "--as", "trec-rag")
    assert code == 0
    assert 0 < len(out.splitlines()) < len(rows(made_run))


def test_a_run_of_rankings_needs_no_truth_and_no_answers(call, made_run, tmp_path, indexed):
    """The lines are those of evaluate --trec but for its ids, and other tools read them."""
    import ir_measures

    file = tmp_path / "run.trec"
    code, out, err = call("export", made_run, "--as", "trec", "--output", file, "--run-id", "my run")
    assert (code, err) == (0, "") and "rankings, 0 failed turns" in out
    read = {}
    for line in ir_measures.read_trec_run(str(file)):
        read.setdefault(line.query_id, []).append(line.doc_id)
    for row in rows(made_run):
        if row["Model_passages"]:
            assert read[f"{row['Conversation_no']}_{row['Turn_no']}"] == list(row["Model_passages"])
    scored = tmp_path / "scored"
    truth = [
        {"Conversation_no": row["Conversation_no"], "Turn_no": row["Turn_no"], "Truth_rewrite": "", "Truth_answer": "",
         "Truth_passages": ["x"]}
        for row in rows(made_run)
    ]  # fmt: skip
    (tmp_path / "ground-truth.json").write_text(json.dumps(truth))
    assert call("evaluate", tmp_path, made_run, "--output", scored, "--trec")[0] == 0
    # evaluate writes short ids, which other tools read: the lines are compared without them.
    both = (file.read_text(), (scored / "run.trec").read_text())
    ours, theirs = (
        {
            (query, rank, score)
            for query, _, id, rank, score, _ in map(str.split, text.splitlines())
            if id != "(nothing)"
        }
        for text in both
    )
    assert ours == theirs
    ranked = tmp_path / "ranked"
    settings = ["--collection", indexed, "--pipeline", "copy-bm25"]
    pipeline = tmp_path / "ranked.yaml"
    pipeline.write_text("extends: copy-bm25\nstations: {reader: null, builder: null, decider: null}\n")
    assert call("run", made_run.parent / "input", ranked, *settings[:3], pipeline)[0] == 0
    assert call("export", ranked, "--as", "trec")[0] == 0
    code, _, err = call("export", ranked, "--as", "ikat")
    assert code == 2 and "has no answer" in err
