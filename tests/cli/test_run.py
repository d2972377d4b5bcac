"""``convqa run`` on the bundled example: files, resume, and every mistake that a user can make with it."""

from __future__ import annotations

import errno
import gzip
import json
import shutil
import signal
import sys
import time
from itertools import islice
from pathlib import Path

import pytest

from convqa.components.rewriters.copy import Copy
from convqa.domain import Rewrite
from convqa.errors import StoreUnavailable
from convqa.models import once
from tests.cli.conftest import EXAMPLE

PLAIN = ("--pipeline", "copy-bm25")
"""For what every pipeline does alike: one without models."""


def test_a_run_writes_its_folder(call, small, indexed, tmp_path):
    fewer = ("--set", "retriever.candidates=1", "--set", "reader.max_passages=1", "--limit", 2)
    code, out, _ = call("run", small, tmp_path / "out", "--collection", indexed, *fewer)
    assert code == 0
    assert "turns of 2 conversations" in out and "0 failed" in out
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"run.json", "responses.jsonl", "pipeline.resolved.yaml", "run.meta.json", "ir-metadata.yml"}
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    questions = json.loads((small / "questions.json").read_text())
    assert [(t["Conversation_no"], t["Turn_no"]) for t in run] == [
        (t["Conversation_no"], t["Turn_no"]) for t in questions if t["Conversation_no"] <= 2
    ]
    assert all(t["Model_rewrite"] and t["Model_passages"] and t["Model_answer"] for t in run)
    cited = [c for t in run for c in t["Model_citations"]]
    assert cited and all(c["passage_id"] and c["end"] > c["start"] for c in cited)
    meta = json.loads((tmp_path / "out" / "run.meta.json").read_text())
    assert meta["status"] == "done" and meta["counts"]["turns"] == len(run) and meta["counts"]["exchanges_given"] == 0
    assert meta["counts"]["exchanges_own"] > 0 and meta["timings"]["retriever"] > 0
    assert meta["versions"]["haystack-ai"] and meta["fingerprint"]["collection"]["count"] == 326


def test_an_empty_shard_says_why(call, small, indexed, tmp_path):
    code, out, _ = call("run", small, tmp_path / "out", "--collection", indexed, *PLAIN, "--shard", "2/2")
    assert code == 0 and "It is empty: more shards than groups. Choose a smaller --batch-size." in out


def test_a_collection_without_vectors_has_its_candidates_encoded_and_is_refused_by_dense(call, small, tmp_path):
    texts = ["Marbury v. Madison was unanimous.", "John Marshall was Chief Justice.", "The court has nine members."]
    lines = [json.dumps({"id": f"p{number}", "text": text}) for number, text in enumerate(texts)]
    (small / "passages.jsonl").write_text("\n".join(lines))
    code, out, err = call("run", small, tmp_path / "out", "--pipeline", "hybrid", "--limit", 1)
    assert (code, err) == (0, "") and "0 failed" in out
    made_with = json.loads((tmp_path / "out" / "run.meta.json").read_text())["fingerprint"]
    assert "encoder" in made_with["models"]["retriever"] and "encoder" not in made_with["collection"]
    code, _, err = call("run", small, tmp_path / "dense", "--pipeline", "dense", "--limit", 1)
    assert code == 2 and "has no vectors" in err and "--vectors encoder" in err


def test_a_run_is_the_same_with_vectors_that_were_made_before_and_another_with_indexed_ones(
    call, small, tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    collection = tmp_path / "collection"
    records = json.loads((small / "questions.json").read_text(encoding="utf-8"))
    (small / "questions.json").write_text(json.dumps(records[:3]), encoding="utf-8")
    (small / "ground-truth.json").unlink()
    with gzip.open(EXAMPLE / "passages.jsonl.gz") as stream:
        (tmp_path / "few.jsonl").write_bytes(b"".join(islice(stream, 12)))
    assert call("index", tmp_path / "few.jsonl", "--collection", collection, "--no-vectors")[0] == 0

    def run(name):
        monkeypatch.setattr(once, "_LOADED", {})  # as in a new process
        options = ("--task", "qrecc", "--quiet", "--set", "retriever.candidates=3", "--set", "reader.max_passages=1")
        code, _, err = call("run", small, tmp_path / name, "--collection", collection, *options)
        return code, err, (tmp_path / name / "run.json").read_bytes()

    cold = run("cold")
    file = tmp_path / "cache" / "convqa" / "vectors" / "vectors.sqlite"
    assert cold[0] == 0 and file.stat().st_size > 3 * 4 * 384
    assert run("warm") == cold
    file.write_bytes(b"no database" * 100)
    code, err, run_file = run("damaged")
    assert (code, run_file) == (0, cold[2]) and err.count("cannot be used") == 1
    assert call("index", "--collection", collection, "--vectors", "encoder")[0] == 0
    code, err, _ = run("cold")
    assert code == 2 and "differs from this one in: collection" in err


def test_what_rewriters_note_is_counted_also_when_a_run_is_continued(call, small, indexed, tmp_path, monkeypatch):
    monkeypatch.setattr(
        Copy, "rewrite", lambda _, turn: Rewrite.unchanged(turn.question, *(["kept"] if turn.history else []))
    )
    arguments = ["run", small, tmp_path / "out", "--collection", indexed, *PLAIN]
    code, out, err = call(*arguments)
    assert code == 0, err
    notes = json.loads((tmp_path / "out" / "run.meta.json").read_text())["notes"]
    assert notes == {"kept": 31}
    assert "Notes: kept 31." in out
    assert call(*arguments)[0] == 0
    assert json.loads((tmp_path / "out" / "run.meta.json").read_text())["notes"] == notes


@pytest.mark.parametrize("file", ["", "questions-rewritten.json"])
def test_tiras_options_and_passages_in_the_input(call, whole, tmp_path, file):
    code, out, _ = call("run", "--input", whole / file, "--output", tmp_path / "out", "--limit", 2, "--quiet", *PLAIN)
    assert (code, out) == (0, "")
    assert {t["Conversation_no"] for t in json.loads((tmp_path / "out" / "run.json").read_text())} == {1, 2}


def test_the_same_command_again_changes_nothing(call, small, indexed, tmp_path):
    arguments = ("run", small, tmp_path / "out", "--collection", indexed, *PLAIN)
    call(*arguments)
    before = (tmp_path / "out" / "run.json").read_bytes()
    code, out, _ = call(*arguments)
    assert code == 0 and "34 turns from before" in out
    assert (tmp_path / "out" / "run.json").read_bytes() == before


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupts_end_cleanly_and_say_how_to_go_on(process, slow, small, indexed, tmp_path, number, code):
    journal = tmp_path / "out" / "responses.jsonl"
    running = process("run", small, tmp_path / "out", "--collection", indexed, "--pipeline", slow, SLOW_SECONDS="0.05")
    while not journal.exists() or not journal.stat().st_size:
        assert running.poll() is None
        time.sleep(0.01)
    running.send_signal(number)
    _, err = running.communicate(timeout=60)
    assert running.returncode == code
    assert "Run the same command again" in err and "Traceback" not in err


def test_failed_turns_are_named_and_can_be_tried_again(call, slow, small, indexed, tmp_path, monkeypatch):
    arguments = ("run", small, tmp_path / "out", "--collection", indexed, "--pipeline", slow)
    monkeypatch.setenv("FAIL_ON", "What does it cost?")
    code, out, err = call(*arguments)
    assert code == 1 and "1 failed" in out
    assert "turn 1_3 failed in rewriter: ValueError: told to fail\n" in err and "Traceback" not in err
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    assert len(run) == 34
    assert {key: run[2][key] for key in ("Model_rewrite", "Model_passages", "Model_answer")} == {
        "Model_rewrite": "", "Model_passages": {}, "Model_answer": ""
    }  # fmt: skip
    monkeypatch.delenv("FAIL_ON")
    code, _, err = call(*arguments)
    assert code == 1 and "add -v to see where" in err
    monkeypatch.setenv("FAIL_ON", "What does it cost?")
    _, _, err = call(*arguments, "--retry-errors", "-v")
    assert "rewriter failed\nTraceback" in err and 'told to fail")\nValueError' in err
    monkeypatch.delenv("FAIL_ON")
    code, out, err = call(*arguments, "--retry-errors")
    assert (code, err) == (0, "") and "0 failed" in out
    call("run", small, tmp_path / "clean", "--collection", indexed, "--pipeline", slow)
    assert json.loads((tmp_path / "out" / "run.json").read_text()) == json.loads(
        (tmp_path / "clean" / "run.json").read_text()
    )


def test_another_fingerprint_is_refused_until_restart(call, small, indexed, tmp_path):
    arguments = ("run", small, tmp_path / "out", "--collection", indexed, *PLAIN)
    call(*arguments)
    code, _, err = call(*arguments, "--set", "retriever.top_k=5")
    assert code == 2 and "in: pipeline. Compare with its pipeline.resolved.yaml" in err and "--restart" in err
    code, _, err = call(*arguments, "--limit", 2, "--history", "none")
    assert code == 2 and "in: history, limit. " in err
    assert call(*arguments, "--set", "retriever.top_k=5", "--restart")[0] == 0
    assert len(json.loads((tmp_path / "out" / "run.json").read_text())[0]["Model_passages"]) == 5


def test_a_component_that_was_edited_is_another_run(call, slow, small, indexed, tmp_path, monkeypatch):
    command = ("run", small, tmp_path / "out", "--collection", indexed, "--pipeline", slow, "--limit", "1")
    assert call(*command)[0] == call(*command)[0] == 0
    source = Path(sys.modules["slow_for_test"].__file__)  # which another test may have loaded
    source.write_text(source.read_text().replace("turn.question,", "turn.question.upper(),"))
    code, _, err = call(*command)
    assert code == 2 and "in: code of slow_for_test.Slow." in err and "--restart" in err
    assert call(*command, "--restart")[0] == 0
    monkeypatch.setattr("convqa.driver.fingerprint.code_of", lambda classes: {"__main__.Slow": None})
    assert call(*command, "--restart")[0] == 0
    code, _, err = call(*command)
    assert code == 2 and "differs from this one in: code of __main__.Slow" in err and "--restart" in err


def test_a_restart_leaves_no_file_of_the_old_run_behind(call, slow, small, indexed, tmp_path, monkeypatch):
    from convqa.driver import run as driver

    arguments = ("run", small, tmp_path / "out", "--collection", indexed, *PLAIN)
    call(*arguments)

    def away(*_, **__):
        raise StoreUnavailable("the store is away.")

    monkeypatch.setattr(driver, "drive", away)
    code, _, err = call(*arguments, "--restart")
    assert code == 1 and "the store is away" in err
    assert not (tmp_path / "out" / "run.json").exists()


def test_a_pipeline_without_reader_and_builder_writes_no_answers(call, small, indexed, tmp_path):
    (tmp_path / "retrieval.yaml").write_text(
        "extends: expansion-bm25\nstations: {reader: null, builder: null, decider: null}\n"
    )
    code, _, _ = call(
        "run", small, tmp_path / "out", "--collection", indexed, "--pipeline", tmp_path / "retrieval.yaml"
    )
    assert code == 0
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    assert all(set(turn) == {"Conversation_no", "Turn_no", "Model_rewrite", "Model_passages"} for turn in run)
    code, out, _ = call("evaluate", small, tmp_path / "out")
    assert code == 0 and "the run has no answers" in " ".join(out.replace("│", " ").split())


def test_two_runs_into_one_folder(process, call, slow, small, indexed, tmp_path):
    arguments = ("run", small, tmp_path / "out", "--collection", indexed, "--pipeline", slow)
    running = process(*arguments, SLOW_SECONDS="0.2")
    journal = tmp_path / "out" / "responses.jsonl"
    while not journal.exists():
        assert running.poll() is None
        time.sleep(0.01)
    code, _, err = call(*arguments)
    assert code == 2 and "another run is writing" in err


def test_a_disk_that_is_full_at_the_end(call, small, indexed, tmp_path, monkeypatch):
    from pathlib import Path

    arguments = ("run", small, tmp_path / "out", "--collection", indexed, *PLAIN)
    replace = Path.replace

    def full(self, target):
        if Path(target).name == "run.json":
            raise OSError(errno.ENOSPC, "No space left on device")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", full)
    code, _, err = call(*arguments)
    assert code == 1 and "No space left on device" in err
    assert not (tmp_path / "out" / "run.json").exists()
    monkeypatch.undo()
    code, out, _ = call(*arguments)
    assert code == 0 and "34 turns from before" in out


def test_a_run_file_of_unknown_origin_is_not_overwritten(call, small, indexed, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "run.json").write_text("precious")
    code, _, err = call("run", small, tmp_path / "out", "--collection", indexed)
    assert code == 2 and "run.meta.json" in err
    assert (tmp_path / "out" / "run.json").read_text() == "precious"
    (tmp_path / "odd" / "responses.jsonl").mkdir(parents=True)
    code, _, err = call("run", small, tmp_path / "odd", "--collection", indexed, "--restart")
    assert code == 1 and "responses.jsonl" in err


def test_questions_are_in_the_collections_language(call, small, tmp_path):
    passages = tmp_path / "de.jsonl"
    passages.write_text(json.dumps({"id": "g", "text": "Goethe schrieb viele Häuser und Bücher."}) + "\n")
    call("index", passages, "--collection", tmp_path / "de", "--language", "de")
    question = {"Conversation_no": 1, "Turn_no": 1, "Question": "Welche Bücher schrieb Goethe?"}
    (tmp_path / "questions.json").write_text(json.dumps([question]))
    assert call("run", tmp_path / "questions.json", tmp_path / "out", "--collection", tmp_path / "de")[0] == 0
    (turn,) = json.loads((tmp_path / "out" / "run.json").read_text())
    assert turn["Model_answer"] == "Goethe schrieb viele Häuser und Bücher."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pipeline", "nothing"], "pipeline: unknown name 'nothing'"),
        (["--set", "retriever.k1=high"], "retriever.k1: expected a number, got 'high'"),
        (["--task", "qrec"], "qrec"),
        (["--collection", "nowhere-at-all"], "nowhere-at-all"),
        (["--bogus"], "No such option"),
    ],
)
def test_wrong_options(call, small, tmp_path, arguments, message):
    code, _, err = call("run", small, tmp_path / "out", *arguments)
    assert code == 2 and message in err and "Traceback" not in err


def test_missing_arguments_and_directories(call, small, tmp_path):
    assert call("run")[0] == 2
    code, _, err = call("run", tmp_path / "nowhere", tmp_path / "out")
    assert code == 2 and "nowhere" in err
    code, _, err = call("run", small, tmp_path / "out")
    assert code == 2 and "passages.jsonl" in err and "--collection" in err


def test_the_input_is_not_touched_and_nothing_lands_in_the_home_folder(call, whole, tmp_path, monkeypatch):
    from pathlib import Path

    before = {path: path.stat().st_mtime_ns for path in whole.rglob("*")}
    assert call("run", whole, tmp_path / "out", "--limit", 1, "--log-file", tmp_path / "log", "-v", *PLAIN)[0] == 0
    assert (tmp_path / "log").exists()
    assert {path: path.stat().st_mtime_ns for path in whole.rglob("*")} == before
    assert {path.name for path in Path.home().iterdir()} <= {"cache"}


def test_a_turn_does_not_depend_on_its_batch_mates(call, small, indexed, tmp_path, monkeypatch):
    questions = json.loads((small / "questions.json").read_text())
    (small / "questions.json").write_text(json.dumps([turn for turn in questions if turn["Turn_no"] <= 2]))
    runs = []
    options = ("--collection", indexed, "--set", "retriever.candidates=3", "--set", "reader.max_passages=2", "--quiet")
    for size in (1, 2, 64):
        # Nothing that another run has encoded is there.
        monkeypatch.setattr(once, "_LOADED", {})
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / f"cache-{size}"))
        assert call("run", small, tmp_path / str(size), "--batch-size", size, *options)[0] == 0
        runs.append(json.loads((tmp_path / str(size) / "run.json").read_text()))
    for one, other in ((runs[0], runs[1]), (runs[0], runs[2])):
        for a, b in zip(one, other, strict=True):
            assert a.pop("Model_passages") == pytest.approx(dict(b["Model_passages"]), abs=1e-4)
            assert a == {key: value for key, value in b.items() if key != "Model_passages"}
            a["Model_passages"] = b["Model_passages"]


def test_a_run_folder_is_a_folder_of_its_own(call, whole, indexed, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    code, _, err = call("run", whole, tmp_path / "file", "--collection", indexed)
    assert code == 2 and f"{tmp_path / 'file'}: cannot be written" in err
    code, _, err = call("run", whole, "/proc/convqa-out", "--collection", indexed)
    assert code == 2 and "/proc/convqa-out" in err
    for output in (whole, whole / "out"):
        code, _, err = call("run", whole, output, "--collection", indexed)
        assert code == 2 and "which is read-only" in err
    code, _, err = call("run", whole, whole / "out", "--collection", tmp_path / "none.jsonl")
    assert code == 2 and "which is read-only" in err  # before any passage is looked at
    code, _, err = call("run", whole, indexed, "--collection", indexed)
    assert code == 2 and "lies in the collection" in err
    monkeypatch.chdir(tmp_path)
    assert call("run", whole, "", "--collection", indexed)[0] == 2
    assert not (tmp_path / "run.json").exists()


@pytest.mark.slow
def test_a_collection_that_changes_meanwhile_changes_nothing(process, call, slow, small, indexed, tmp_path):
    from convqa.indexing import index_sources

    collection = shutil.copytree(indexed, tmp_path / "c")
    arguments = ("run", small, "--collection", collection, "--pipeline", slow, "--batch-size", 1, "--limit", 1)
    call(*arguments, "--output", tmp_path / "quiet")
    running = process(*arguments, "--output", tmp_path / "disturbed", SLOW_SECONDS="0.05")
    journal = tmp_path / "disturbed" / "responses.jsonl"
    while not journal.exists() or not journal.stat().st_size:
        assert running.poll() is None
        time.sleep(0.01)
    other = tmp_path / "other.jsonl"
    other.write_text('{"id": "new", "text": "What does a physician\'s assistant cost?"}\n')
    index_sources([other], str(collection), replace=True)
    assert running.wait(timeout=60) == 0
    quiet, disturbed = ((tmp_path / name / "run.json").read_bytes() for name in ("quiet", "disturbed"))
    assert quiet == disturbed


def test_names_that_are_not_utf8_are_written_down_as_far_as_they_are(process, small, indexed, tmp_path):
    source, target = small.rename(tmp_path / "in\udce4"), tmp_path / "out\udce4"
    run = process("run", source, target, "--collection", indexed, "--pipeline", "copy-bm25", "--quiet")
    _, err = run.communicate(timeout=60)
    assert run.returncode == 0, err
    assert str(target).replace("\udce4", "\ufffd") in json.loads((target / "run.meta.json").read_bytes())["command"]
