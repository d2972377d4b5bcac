"""Grids over a small real input: ordinary run folders, shared work, failures, limits, kills and resuming."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from convqa.domain import Conversation, Turn, TurnId
from convqa.driver.responses import read_responses
from convqa.errors import InputError
from convqa.experiments.ablate import ablate
from convqa.experiments.cell import part_of
from convqa.places import shipped

GRID = """
question: Does a longer ranking help?
pipeline: copy-bm25
axes:
  rewriter: [copy, expansion]
  retriever.top_k: [3, 10]
baseline: {rewriter: copy}
"""
FAILING = """
from convqa.components.members import member
from convqa.components.rewriters.copy import Copy

@member
class Fails(Copy):
    every: bool = False

    def rewrite(self, turn):
        if self.every or turn.id.number == 1:
            raise ValueError("no")
        return Copy.rewrite(self, turn)
"""
ROOT = Path(__file__).resolve().parents[2]
SETS = Path(__file__).resolve().parents[3] / "shared" / "data" / "conversations"


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The first three conversations of the bundled example, with its truth and all passages."""
    folder = tmp_path_factory.mktemp("inputs") / "sample"
    folder.mkdir()
    example = shipped("examples", "qrecc-trec")
    questions = json.loads((example / "questions.json").read_bytes())
    first = list(dict.fromkeys(record["Conversation_no"] for record in questions))[:3]
    for name in ("questions.json", "ground-truth.json"):
        records = json.loads((example / name).read_bytes())
        (folder / name).write_text(json.dumps([one for one in records if one["Conversation_no"] in first]))
    (folder / "passages.jsonl.gz").write_bytes((example / "passages.jsonl.gz").read_bytes())
    return folder


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def grid(tmp_path, cache):
    file = tmp_path / "grid.yaml"
    file.write_text(GRID)
    return file


@pytest.fixture(scope="module")
def done(tmp_path_factory, source, cache):
    """An output folder of the grid, and its record."""
    folder = tmp_path_factory.mktemp("done")
    (folder / "grid.yaml").write_text(GRID)
    return folder / "out", ablate(str(folder / "grid.yaml"), [source], folder / "out")


def results(output):
    """The bytes of what a run is made of, by cell."""
    names = ("run.json", "turns.jsonl", "evaluation.prototext")
    return {path.relative_to(output): path.read_bytes() for name in names for path in output.rglob(name)}


def test_each_cell_is_a_run_folder_with_its_evaluation(done):
    output, record = done
    assert [(cell.row, cell.status) for cell in record.cells] == [
        (row, "done") for row in ("copy+3", "copy+10", "expansion+3", "expansion+10")
    ]
    for cell in record.cells:
        folder = output / cell.folder
        assert {"run.json", "run.meta.json", "pipeline.resolved.yaml", "ir-metadata.yml"} <= set(os.listdir(folder))
        assert cell.measures["MRR"].turns > 0
        assert cell.milliseconds["retriever"] > 0
        assert max(len(response.ranking.hits) for response in read_responses(folder)) <= 10
    assert record.base == "copy+3"
    assert json.loads((output / "ablation.json").read_bytes()) == record.model_dump()


def test_the_history_is_what_the_input_gives_else_none(done):
    assert done[1].inputs[0].history == "none"


def test_given_again_it_ends_in_the_same_record_and_without_sharing_the_bytes_are_the_same(
    done, grid, source, tmp_path
):
    output, record = done
    again = ablate(str(output.parent / "grid.yaml"), [source], output)
    assert again == record
    grid.write_text(GRID.replace("[3, 10]", "[3]"))
    ablate(str(grid), [source], tmp_path / "apart", sharing=False)
    apart = results(tmp_path / "apart")
    assert len(apart) == 6 and apart.items() <= results(output).items()
    assert not (tmp_path / "apart" / "shared.sqlite").exists()


def test_a_cell_that_fails_is_told_and_the_others_go_on(grid, source, tmp_path, caplog):
    grid.write_text("{pipeline: copy-bm25, axes: {row: {a: {retriever.type: dense}, b: {}}}}")
    first, second = ablate(str(grid), [source], tmp_path / "out").cells
    assert (first.status, second.status) == ("failed", "done")
    assert "has no vectors" in first.message


def test_turns_that_fail_are_told_and_a_cell_of_nothing_else_has_failed(grid, source, tmp_path):
    (tmp_path / "failing.py").write_text(FAILING)
    grid.write_text(
        "{pipeline: copy-bm25, axes: {row: {some: {rewriter.type: failing.Fails},"
        " all: {rewriter.type: failing.Fails, rewriter.every: true}}}}"
    )
    done = convqa("ablate", grid, source, tmp_path / "out")
    some, every = json.loads((tmp_path / "out" / "ablation.json").read_bytes())["cells"]
    assert done.returncode == 1
    assert some["status"] == "done" and some["message"].startswith("3 turns failed, the first in rewriter: ValueError")
    assert every["status"] == "failed" and "every turn failed" in every["message"] and not every["measures"]


def convqa(*arguments):
    """Run a command in a process that has imported no module of a test."""
    command = [sys.executable, "-m", "convqa", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_modules_beside_the_ablation_and_its_pipeline_are_found_and_a_row_can_be_repeated(grid, source, tmp_path):
    (tmp_path / "failing.py").write_text(FAILING)
    base = tmp_path / "base"
    base.mkdir()
    (base / "based.py").write_text(FAILING.replace("Fails", "Based"))
    (base / "base.yaml").write_text("{extends: copy-bm25, stations: {rewriter: based.Based}}")
    grid.write_text("{pipeline: base/base.yaml, axes: {rewriter: [based.Based, failing.Fails]}}")
    output = tmp_path / "out"
    assert convqa("ablate", grid, source, output).returncode == 1
    assert [one["status"] for one in json.loads((output / "ablation.json").read_bytes())["cells"]] == ["done", "done"]
    pipeline = output / "pipelines" / "failing.Fails.yaml"
    again = convqa("run", source, tmp_path / "again", "--pipeline", pipeline)
    assert "3 failed" in again.stdout
    [cell] = output.glob("cells/failing.Fails/*/run.json")
    assert (tmp_path / "again" / "run.json").read_bytes() == cell.read_bytes()


def test_a_cell_whose_file_or_input_changed_is_run_anew(grid, source, tmp_path):
    folder = tmp_path / "a.b"
    shutil.copytree(source, folder)
    records = json.loads((source / "questions.json").read_bytes())
    rewrites = tmp_path / "rewrites.json"
    grid.write_text(
        f"{{pipeline: copy-bm25, axes: {{row: {{a: {{rewriter.type: recorded, rewriter.path: {rewrites}}}}}}}}}"
    )

    def rewritten(record):
        return json.loads((tmp_path / "out" / record.cells[0].folder / "run.json").read_bytes())[0]["Model_rewrite"]

    rewrites.write_text(json.dumps([{**one, "Model_rewrite": "first"} for one in records]))
    record = ablate(str(grid), [folder], tmp_path / "out")
    assert record.inputs[0].name == "a.b" and rewritten(record) == "first"
    rewrites.write_text(json.dumps([{**one, "Model_rewrite": "second"} for one in records]))
    assert rewritten(ablate(str(grid), [folder], tmp_path / "out")) == "second"
    records[0]["Question"] = "Another one?"
    (folder / "questions.json").write_text(json.dumps(records))
    meta = tmp_path / "out" / record.cells[0].folder / "run.meta.json"
    before = json.loads(meta.read_bytes())["fingerprint"]["input"]
    assert ablate(str(grid), [folder], tmp_path / "out").cells[0].status == "done"
    assert json.loads(meta.read_bytes())["fingerprint"]["input"] != before


def test_a_cell_without_its_file_is_skipped(grid, source, tmp_path):
    grid.write_text("{pipeline: hybrid, axes: {row: {a: {retriever.encoder: '{input}/gone'}}}}")
    (cell,) = ablate(str(grid), [source], tmp_path / "out").cells
    assert (cell.status, cell.message) == ("skipped", f"{source}/gone does not exist")


def test_mistakes_are_told_before_anything_is_run(grid, source, tmp_path):
    grid.write_text("{pipeline: copy-bm25, axes: {row: {a: {}, b: {retriever.topk: 3}}}}")
    with pytest.raises(InputError, match=r"row b: .*retriever"):
        ablate(str(grid), [source], tmp_path / "out")
    with pytest.raises(InputError, match="two inputs have the same name"):
        ablate(str(grid), [source, source], tmp_path / "out")
    assert not (tmp_path / "out" / "cells").exists()


def test_an_unknown_measure_is_warned_of(grid, source, tmp_path, caplog):
    grid.write_text("pipeline: copy-bm25\naxes: {rewriter: [copy]}\nmeasures: [MRRR]\n")
    ablate(str(grid), [source], tmp_path / "out")
    assert "measures: no cell has MRRR. Did you mean 'MRR'?" in caplog.text


def test_turns_are_limited_in_whole_conversations(grid, source, tmp_path):
    grid.write_text("{pipeline: copy-bm25, axes: {rewriter: [copy]}}")
    record = ablate(str(grid), [source], tmp_path / "out", turns=12)
    turns = {cell.measures["Cited-F1"].turns for cell in record.cells}
    assert 0 < record.inputs[0].turns <= 12 and max(turns) <= 12


def test_odd_and_even_conversations():
    some = [Conversation(n, (Turn(TurnId(n, 1), "q"), Turn(TurnId(n, 2), "q"))) for n in range(1, 6)]
    assert [one.id for one in part_of(some, "odd")] == [1, 3, 5]
    assert [one.id for one in part_of(some, "even")] == [2, 4]
    assert [one.id for one in part_of(some, "odd", turns=5)] == [1, 3]
    with pytest.raises(InputError, match="has no number"):
        list(part_of([Conversation("a", some[0].turns)], "odd"))


@pytest.mark.slow
@pytest.mark.parametrize("after", [1.5, 3.0])
def test_killed_and_given_again_it_ends_in_the_same_bytes(after, grid, source, tmp_path, done):
    command = [sys.executable, "-m", "convqa", "ablate", str(grid), str(source), str(tmp_path / "out"), "--quiet"]
    process = subprocess.Popen(command, start_new_session=True)
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    process.wait()
    for _ in range(100):  # the cell that was under way ends with its parent
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            break
        time.sleep(0.1)
    assert results(tmp_path / "out") == results(done[0])
