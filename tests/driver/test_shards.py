"""Runs with workers and in shards end in the bytes of a local run, whoever is killed on the way."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from convqa.driver.fingerprint import fingerprint
from convqa.driver.merge import merge
from convqa.driver.run import run
from convqa.errors import InputError, RunError
from convqa.indexing import index_sources
from convqa.pipeline.load import load
from convqa.qa import ready
from convqa.tasks import find_task
from convqa.workers import start_workers
from convqa.workers.shard import Shard

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "qrecc-trec"
TASK = find_task("qrecc", EXAMPLE)
SIZES = (1, 7)

DYING = """
import os
from haystack import component
from convqa.components.base import Rewriter
from convqa.domain import Rewrite

@component
class Dying(Rewriter):
    def rewrite(self, turn):
        if str(turn.id) == "3_2" and "worker" not in os.environ.get("SURVIVES", ""):
            os._exit(9)
        return Rewrite.unchanged(turn.question)
"""


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    folder = tmp_path_factory.mktemp("indexed") / "collection"
    index_sources([EXAMPLE / "passages.jsonl.gz"], str(folder))
    return ready(load("copy-bm25"), str(folder))


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The first eight conversations of the example."""
    folder = tmp_path_factory.mktemp("input")
    questions = json.loads((EXAMPLE / "questions.json").read_text(encoding="utf-8"))
    kept = [record for record in questions if record["Conversation_no"] <= 8]
    (folder / "questions.json").write_text(json.dumps(kept), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def local(pipeline, source, tmp_path_factory):
    """The folder of a local run for each batch size."""
    folders = {size: tmp_path_factory.mktemp("local") / "run" for size in SIZES}
    for size, folder in folders.items():
        run(TASK, source, folder, pipeline, batch_size=size)
    return folders


@pytest.fixture(scope="module", params=["processes", pytest.param("ray", marks=pytest.mark.services)])
def workers(request):
    if request.param == "ray":
        request.getfixturevalue("ray_cluster")
    with start_workers(request.param, 2) as made:
        yield made


def result(folder):
    return (folder / "run.json").read_bytes()


@pytest.mark.parametrize("size", SIZES)
def test_workers_end_in_the_bytes_of_a_local_run(workers, pipeline, source, local, tmp_path, size):
    seen = []
    summary = run(
        TASK, source, tmp_path / "out", pipeline, batch_size=size, progress=lambda *n: seen.append(n), workers=workers
    )  # fmt: skip
    assert result(tmp_path / "out") == result(local[size])
    assert seen[0] == (0, summary.turns) and seen[-1] == (summary.turns, summary.turns) and seen == sorted(seen)
    marks = [json.loads((folder / "run.meta.json").read_text()) for folder in (tmp_path / "out", local[size])]
    assert marks[0]["fingerprint"] == marks[1]["fingerprint"] and marks[0]["counts"] == marks[1]["counts"]


def test_a_run_loses_nothing_when_workers_are_killed(workers, pipeline, source, local, tmp_path, caplog):
    killed = []

    def kill(done, total):
        if done > 5 * (1 + 2 * len(killed)) and len(killed) < 2:
            killed.append(worker := sorted(workers._started, key=id)[0])
            worker.close()

    run(TASK, source, tmp_path / "out", pipeline, batch_size=1, progress=kill, workers=workers)
    assert len(killed) == 2 and "a worker died" in caplog.text
    assert result(tmp_path / "out") == result(local[1])


def test_a_wave_that_kills_every_worker_ends_the_run_and_what_was_done_is_kept(
    source, local, pipeline, tmp_path, monkeypatch
):
    (tmp_path / "dying_for_test.py").write_text(DYING)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("HAYSTACK_DESERIALIZATION_ALLOWLIST", "dying_for_test")
    dying = ready(load("copy-bm25", {"rewriter.type": "dying_for_test.Dying"}), pipeline.collection)
    said = r"turns 3_2 to 3_2 \(1 of one wave\): 3 workers died, .* ended with code 9.* fewer --workers"
    with start_workers("processes", 2) as workers, pytest.raises(RunError, match=said):
        run(TASK, source, tmp_path / "out", dying, batch_size=1, workers=workers)
    assert (tmp_path / "out" / "responses.jsonl").stat().st_size > 0
    monkeypatch.setenv("SURVIVES", "worker")
    assert run(TASK, source, tmp_path / "out", dying, batch_size=1).resumed > 0
    assert result(tmp_path / "out") == result(local[1])


def test_a_worker_with_another_collection_is_refused(pipeline, source, tmp_path, monkeypatch):
    with start_workers("processes", 1) as workers:
        monkeypatch.setattr(
            "convqa.driver.run.fingerprint", lambda *args, **marks: fingerprint(*args, **marks) | {"collection": None}
        )
        with pytest.raises(InputError, match=r"the worker on .* differs from this process in: collection"):
            run(TASK, source, tmp_path / "out", pipeline, workers=workers)


def sharded(pipeline, source, folder, count, size):
    folders = [folder / f"s{number}" for number in range(1, count + 1)]
    for number, made in enumerate(folders, 1):
        run(TASK, source, made, pipeline, batch_size=size, shard=Shard(number, count))
    return folders


@pytest.fixture(scope="module")
def shards(pipeline, source, tmp_path_factory):
    """Three shards of a run with groups of one conversation."""
    return sharded(pipeline, source, tmp_path_factory.mktemp("shards"), 3, 1)


def test_merged_shards_are_the_run(shards, local, tmp_path):
    summary = merge(tmp_path / "out", [shards[2], shards[0], shards[1]])
    assert result(tmp_path / "out") == result(local[1])
    names = {path.name for path in local[1].iterdir()}
    assert {path.name for path in (tmp_path / "out").iterdir()} == names
    metas = [json.loads((folder / "run.meta.json").read_text()) for folder in (tmp_path / "out", local[1])]
    assert metas[0]["fingerprint"] == metas[1]["fingerprint"] and metas[0]["status"] == "done"
    assert metas[0]["counts"] == metas[1]["counts"] and summary.turns == metas[1]["counts"]["turns"]
    lines = [
        [json.loads(line) | {"timings": None} for line in (folder / "responses.jsonl").read_bytes().splitlines()]
        for folder in (tmp_path / "out", local[1])
    ]
    assert sorted(lines[0], key=lambda line: line["batch"]) == lines[1]
    merge(tmp_path / "out", shards)


def test_a_group_is_whole_whatever_its_size(pipeline, source, local, tmp_path):
    folders = sharded(pipeline, source, tmp_path, 2, 7)
    merge(tmp_path / "out", folders)
    assert result(tmp_path / "out") == result(local[7])


def test_a_shard_is_no_run(shards, call, pipeline, source):
    assert {path.name for path in shards[1].iterdir()} == {"run.meta.json", "responses.jsonl", "pipeline.resolved.yaml"}
    meta = json.loads((shards[1] / "run.meta.json").read_text())
    assert (meta["status"], meta["fingerprint"]["shard"]) == ("shard", "2/3")
    with pytest.raises(InputError, match="differs from this one in: shard"):
        run(TASK, source, shards[1], pipeline, batch_size=1, shard=Shard(1, 3))
    with pytest.raises(InputError, match="differs from this one in: shard"):
        run(TASK, source, shards[1], pipeline, batch_size=1)


def test_a_shard_may_have_no_conversations(pipeline, source, tmp_path):
    folders = sharded(pipeline, source, tmp_path, 2, 100)
    assert merge(tmp_path / "out", folders).turns > 0


def changed(folder, tmp_path, **changes):
    """A copy of a shard, whose run.meta.json says something else."""
    copy = tmp_path / f"changed-{folder.name}"
    shutil.copytree(folder, copy)
    meta = json.loads((copy / "run.meta.json").read_text())
    meta.update({name: value for name, value in changes.items() if name in meta})
    meta["fingerprint"].update({name: value for name, value in changes.items() if name not in meta})
    (copy / "run.meta.json").write_text(json.dumps(meta))
    return copy


def test_what_is_not_all_of_one_run_is_refused(shards, tmp_path, source):
    def refused(said, *folders, **how):
        with pytest.raises(InputError, match=said):
            merge(tmp_path / "out", folders, **how)

    first, second, third = shards
    refused("expected each of the 3 shards once, got 1/3", first)
    refused("expected each of the 3 shards once", first, second, third, changed(first, tmp_path))
    shutil.rmtree(tmp_path / "changed-s1")
    refused(
        "in: models, history.",
        changed(first, tmp_path, models={"a": {}}, history="none"),
        second,
        third,
    )
    shutil.rmtree(tmp_path / "changed-s1")
    refused("expected each of the", changed(first, tmp_path, shard="1/4"), second, third)
    refused("is not finished", changed(third, tmp_path, status="unfinished"), first, second)
    refused("expected a folder written by convqa run --shard", tmp_path, first)
    with pytest.raises(InputError, match="is one of the shards"):
        merge(first, shards)
    other = tmp_path / "other"
    other.mkdir()
    questions = json.loads((source / "questions.json").read_text())
    (other / "questions.json").write_text(json.dumps(questions[:-1]))
    refused("differs from the input of the shards", *shards, input_path=other)
    assert not (tmp_path / "out" / "run.json").exists()


def test_a_shard_whose_journal_lost_lines_is_refused(shards, tmp_path):
    copy = changed(shards[2], tmp_path)
    lines = (copy / "responses.jsonl").read_bytes().splitlines(keepends=True)
    (copy / "responses.jsonl").write_bytes(b"".join(lines[:-1]))
    with pytest.raises(InputError, match="not answered by any shard"):
        merge(tmp_path / "out", [*shards[:2], copy])


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "a/b", "1/3/5", "-1/3"])
def test_what_is_no_shard_is_refused(text):
    with pytest.raises(InputError, match="expected I/N"):
        Shard.parse(text)


def children(pid):
    """All processes below one, of this machine's."""
    below = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        below.setdefault(int(fields[1]), []).append(int(status.parent.name))
    found = below.get(pid, [])
    return [*found, *(one for child in found for one in children(child))]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this engine of processes has no /proc")
def test_a_driver_that_is_killed_leaves_no_workers_and_its_run_goes_on(source, local, pipeline, tmp_path):
    command = [sys.executable, "-m", "convqa", "run", source, tmp_path / "out", "--pipeline", "copy-bm25"]
    command = [*map(str, command), "--collection", pipeline.collection, "--batch-size", "1"]
    started = subprocess.Popen([*command, "--executor", "processes", "--workers", "2"])
    journal, deadline = tmp_path / "out" / "responses.jsonl", time.monotonic() + 120
    while not (journal.exists() and journal.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.05)
    below = children(started.pid)
    started.kill()
    started.wait()
    assert len(below) >= 2
    while any(os.path.exists(f"/proc/{pid}") for pid in below) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [pid for pid in below if os.path.exists(f"/proc/{pid}")]
    assert run(TASK, source, tmp_path / "out", pipeline, batch_size=1).resumed > 0
    assert result(tmp_path / "out") == result(local[1])
