"""Ablations: a grid of pipelines over inputs. Each cell is an ordinary run folder with its evaluation.

The same call continues a stopped ablation: every cell resumes from its journal.
"""

from __future__ import annotations

import logging
import math
import multiprocessing
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson

from convqa.driver.fingerprint import SHAPING_TORCH, versions
from convqa.driver.run import check_place, locked
from convqa.errors import InputError, nearest
from convqa.experiments.cell import Cell, part_of, work
from convqa.experiments.grid import Ablation, InputChoice, Row, baseline_of, read_ablation, rows_of
from convqa.files import replace_surrogates, whole_file
from convqa.pipeline.load import load
from convqa.tasks import Task, find_task, tasks
from convqa.workers.pool import WorkerDied
from convqa.workers.processes import Process

RECORD = "ablation.json"
"""The file in the output folder with the settings and the result of each cell."""

Progress = Callable[[int, int, str], None]
"""Called with (cells done, total cells, label of the next cell)."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Input:
    """An input and its settings; ``turns`` is the number of turns that are run."""

    name: str
    path: Path
    task: Task
    choice: InputChoice
    turns: int

    def to_json(self) -> dict[str, Any]:
        truth = str(self.path) if self.task.has_truth(self.path) else None
        choice = {"history": self.choice.history, "conversations": self.choice.conversations}
        return {"name": self.name, "path": str(self.path), "truth": truth, **choice, "turns": self.turns}


def ablate(
    name: str,
    inputs: Sequence[Path],
    output: Path,
    *,
    task: str = "auto",
    turns: int | None = None,
    minutes: float | None = None,
    sharing: bool = True,
    restart: bool = False,
    progress: Progress = lambda *_: None,
) -> dict[str, Any]:
    """Run every row of an ablation over every input. Return the record, which is also in ``OUTPUT/ablation.json``.

    Finished cells are only evaluated again, unless their pipeline, input, models or collection changed. A failed cell
    is recorded, and the others continue.

    :param name: the ablation's file, or the name of a shipped one.
    :param turns: maximum turns of each input, in whole conversations.
    :param minutes: time limit of this call.
    :param sharing: reuse the results of other cells.
    :param restart: discard the runs in the output folder.
    :raises InputError: for a mistake in the file, a row or an input, before any cell runs.
    """
    ablation, file = read_ablation(name)
    rows = rows_of(ablation, file)
    baseline = baseline_of(ablation, rows, file)
    if name_of_task := next((kind.name for kind in tasks().values() if kind.has_input(output)), None):
        raise InputError(f"output {output}: is an input of {name_of_task}; add an output folder as the last argument.")
    sources = [_read_input(path.resolve(), task, ablation, turns, output) for path in inputs]
    names = [source.name for source in sources]
    if duplicate := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"two inputs are called {duplicate}, but cells are named after them. Rename one folder.")
    known = {*names, *ablation.inputs}
    for row in rows:
        if unknown := next((name for name in row.inputs or () if name not in known), None):
            raise InputError(
                f"ablation {file}: row {row.name}: inputs: unknown input {unknown!r}.{nearest(unknown, known)}"
            )
    deadline = None if minutes is None else time.monotonic() + 60 * minutes
    salt = repr(versions() | {library: _version(library) for library in SHAPING_TORCH})
    with locked(output):
        record: dict[str, Any] = {
            "name": file.stem,
            "question": ablation.question,
            "base": baseline.name,
            "pipeline": ablation.pipeline,
            "measures": ablation.measures,
            "inputs": [source.to_json() for source in sources],
            "rows": [{"name": row.name, "values": row.values, "overrides": row.overrides} for row in rows],
            "cells": [],
            "versions": versions(),
        }
        pipelines = {row.name: _write_pipeline(row, ablation, file, output) for row in rows}
        grid = [(row, source) for source in sources for row in rows if row.inputs is None or source.name in row.inputs]
        for number, (row, source) in enumerate(grid):
            progress(number, len(grid), f"{row.name} over {source.name}")
            cell = Cell(
                source.task.name, source.path, pipelines[row.name], row.settings(source.path),
                Path("cells", row.name, source.name), output, source.choice.history or "none",
                source.choice.conversations, turns, source.choice.collection, ablation.vectors,
                salt if sharing else None, restart,
            )  # fmt: skip
            record["cells"].append(_result(cell, row.name, source.name, deadline))
            with whole_file(output / RECORD) as stream:
                options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
                stream.write(orjson.dumps(replace_surrogates(record), option=options))
    measured = {measure for cell in record["cells"] for measure in cell["measures"]}
    for measure in ablation.measures:
        if measured and measure not in measured:
            logger.warning("%s: measures: no cell has %s.%s", file, measure, nearest(measure, measured))
    return record


def _write_pipeline(row: Row, ablation: Ablation, file: Path, output: Path) -> Path:
    """Write the row's pipeline file and return its path.

    :raises InputError: for a mistake in the pipeline.
    """
    path = output / "pipelines" / f"{row.name}.yaml"
    path.parent.mkdir(exist_ok=True)
    with whole_file(path) as stream:
        stream.write(row.document(ablation, file).encode())
    try:
        load(path, row.settings(Path("INPUT")))
    except InputError as error:
        raise InputError(f"ablation {file}: row {row.name}: {error}") from error
    return path


def _result(cell: Cell, row: str, source: str, deadline: float | None) -> dict[str, Any]:
    """Run a cell and return its part of the record."""
    result: dict[str, Any] = {
        "row": row, "input": source, "folder": str(cell.folder), "status": "skipped", "message": "",
        "milliseconds": {}, "measures": {},
    }  # fmt: skip
    if missing := next((value for value in cell.settings.values() if not Path(value).exists()), None):
        return result | {"message": f"{missing} does not exist"}
    if deadline is not None and time.monotonic() >= deadline:
        return result | {"status": "stopped", "message": "the time is up. Run the same command again to continue"}
    return result | _run(cell, deadline)


def _version(library: str) -> str | None:
    return metadata.version(library) if find_spec(library) else None


_warned: set[str] = set()


def _run(cell: Cell, deadline: float | None) -> dict[str, Any]:
    """Run a cell in a process and return its status and result."""
    # The server imports the modules once, and each cell is forked from it.
    multiprocessing.get_context("forkserver").set_forkserver_preload(["convqa.experiments.cell"])
    process = Process({})
    left = math.inf if deadline is None else max(0.0, deadline - time.monotonic())
    timer = threading.Timer(min(left, threading.TIMEOUT_MAX), process.close)
    timer.daemon = True
    timer.start()
    try:
        result, error, logged = process.perform(work, (cell,))
    except WorkerDied as died:
        if deadline is not None and time.monotonic() >= deadline:
            return {"status": "stopped", "message": "the time is up. Run the same command again to continue"}
        return {"status": "failed", "message": str(died)}
    finally:
        timer.cancel()
        process.close()
    for record in logged:
        if record.levelno >= logging.WARNING and record.getMessage() not in _warned:
            _warned.add(record.getMessage())
            logger.warning("%s", record.getMessage())
    return {"status": "failed", "message": str(error)} if error else {"status": "done", **result}


def _read_input(path: Path, task: str, ablation: Ablation, turns: int | None, output: Path) -> _Input:
    """Read an input once: check it, count its turns and find out whether it has a history."""
    check_place(output, path, None)
    kind = find_task(task, path)
    name = path.name if path.is_dir() else path.name.partition(".")[0]
    choice = ablation.inputs.get(name, InputChoice())
    conversations, count, given = 0, 0, False
    for conversation in part_of(kind.read(path), choice.conversations, turns):
        conversations, count = conversations + 1, count + len(conversation.turns)
        given = given or any(turn.history for turn in conversation.turns)
    if not count:
        raise InputError(f"{path}: no conversation is left to run. Raise --turns, or change conversations.")
    history = choice.history or ablation.history or ("gold" if given else "none")
    if history == "none" and not (choice.history or ablation.history) and count > conversations:
        logger.warning(
            "%s has no earlier answers, so that every turn is answered like a first one and rewriters change nothing. "
            "Set history: own in the ablation to use each row's own answers.", name,
        )  # fmt: skip
    return _Input(name, path, kind, choice.model_copy(update={"history": history}), count)
