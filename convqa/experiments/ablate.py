"""A grid of pipelines over inputs: one cell after the other, each an ordinary run folder, and what came of it.

Whatever is stopped goes on with the same call: a cell that is done is not run again, and one that was cut off goes on
from its journal.
"""

from __future__ import annotations

import hashlib
import json
import logging
import multiprocessing
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import orjson

from convqa.driver.fingerprint import versions
from convqa.driver.run import check_place, locked
from convqa.errors import InputError, nearest
from convqa.experiments.cell import Cell, part_of, work
from convqa.experiments.grid import Ablation, InputChoice, Row, baseline_of, read_ablation, rows_of
from convqa.files import mend, whole_file
from convqa.pipeline.load import load
from convqa.tasks import Task, find_task

RECORD = "ablation.json"
"""The file in the output folder that says what was run, and what came of each cell."""

Progress = Callable[[int, int], None]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """``turns`` of each input at most, in whole conversations; ``minutes`` of this call, then it stops."""

    turns: int | None = None
    minutes: float | None = None


@dataclass(frozen=True, slots=True)
class _Input:
    """An input and how it is run. ``stamp`` changes with its files."""

    name: str
    path: Path
    task: Task
    choice: InputChoice
    turns: int
    stamp: str

    def to_json(self) -> dict[str, Any]:
        truth = str(self.path) if self.task.has_truth(self.path) else None
        how = {"history": self.choice.history, "conversations": self.choice.conversations}
        return {"name": self.name, "path": str(self.path), "truth": truth, **how, "turns": self.turns}


def ablate(
    name: str,
    inputs: Sequence[Path],
    output: Path,
    *,
    task: str = "auto",
    limits: Limits = Limits(),
    sharing: bool = True,
    restart: bool = False,
    progress: Callable[[str], Progress] = lambda _: lambda *_: None,
) -> dict[str, Any]:
    """Run every row of an ablation over every input; return the record, which ``OUTPUT/ablation.json`` holds too.

    A cell that fails is recorded as such, and the others go on.

    :param name: the ablation's file, or the name of a shipped one.
    :param sharing: look up what other cells have computed already.
    :param restart: throw away what the output folder holds of each cell.
    :param progress: gives, for the name of a cell that begins, what hears of its turns (done, in all).
    :raises InputError: for a mistake in the file, a row or an input, before any cell is run.
    """
    ablation, file = read_ablation(name)
    rows = rows_of(ablation, file)
    baseline = baseline_of(ablation, rows, file)
    read = [_read_input(path, task, ablation, limits.turns, output) for path in inputs]
    _check_names(ablation, rows, read, file)
    deadline = None if limits.minutes is None else time.monotonic() + 60 * limits.minutes
    with locked(output):
        record: dict[str, Any] = {
            "name": file.stem,
            "question": ablation.question,
            "base": baseline.name,
            "pipeline": ablation.pipeline,
            "measures": ablation.measures,
            "inputs": [one.to_json() for one in read],
            "rows": [{"name": row.name, "values": row.values, "overrides": row.overrides} for row in rows],
            "cells": [],
            "versions": versions(),
        }
        grid = _Grid(ablation, file, output, limits, sharing, restart, deadline, progress)
        before = {} if restart else {(cell["row"], cell["input"]): cell for cell in _record(output).get("cells", [])}
        documents = {row.name: grid.write_pipeline(row) for row in rows}
        for one in read:
            for row in rows:
                if row.inputs is not None and one.name not in row.inputs:
                    continue
                cell = grid.run(row, one, documents[row.name], before.get((row.name, one.name)))
                record["cells"].append(cell)
                with whole_file(output / RECORD) as stream:
                    stream.write(orjson.dumps(mend(record)[0], option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    return record


def read_record(output: Path) -> dict[str, Any]:
    """What ``convqa ablate`` wrote about an output folder.

    :raises InputError: if there is nothing of the kind.
    """
    if record := _record(output):
        return record
    raise InputError(f"{output}: no ablation: {RECORD} is missing or damaged. Wanted is a folder of convqa ablate.")


@dataclass(frozen=True, slots=True)
class _Grid:
    """Runs cells, each in a process."""

    ablation: Ablation
    file: Path
    output: Path
    limits: Limits
    sharing: bool
    restart: bool
    deadline: float | None
    progress: Callable[[str], Progress]

    def write_pipeline(self, row: Row) -> str:
        """Write the row's pipeline file; return the resolved pipeline.

        :raises InputError: for a mistake in it.
        """
        path = self._pipeline(row)
        text = row.document(self.ablation, self.file)
        path.parent.mkdir(exist_ok=True)
        with whole_file(path) as stream:
            stream.write(text.encode())
        try:
            return load(path, row.settings(Path("INPUT"))).document.to_yaml()
        except InputError as error:
            raise InputError(f"ablation {self.file}: row {row.name}: {error}") from error

    def run(self, row: Row, one: _Input, document: str, before: dict[str, Any] | None) -> dict[str, Any]:
        """The record of a cell: run now, or taken from before where nothing has changed since."""
        folder = Path("cells", row.name, one.name)
        known = {"row": row.name, "input": one.name, "folder": str(folder)}
        told: dict[str, Any] = {"status": "skipped", "message": "", "seconds": 0.0, "milliseconds": {}, "measures": {}}
        settings = row.settings(one.path)
        if missing := next((value for value in settings.values() if not Path(value).exists()), None):
            return {**known, **told, "message": f"there is no {missing}"}
        stamps = [*map(_stamp, map(Path, settings.values())), one.stamp]
        parts = [
            document,
            settings,
            stamps,
            one.choice.model_dump(),
            self.ablation.vectors,
            self.limits.turns,
            versions(),
        ]
        mark = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
        if before and (before.get("status"), before.get("mark")) == ("done", mark) and (self.output / folder).is_dir():
            return before
        if self.deadline is not None and time.monotonic() >= self.deadline:
            return {**known, **told, "status": "stopped", "message": "no time was left"}
        cell = Cell(
            one.task.name, one.path, self._pipeline(row), settings, self.output / folder, one.choice.history or "none",
            one.choice.conversations, self.limits.turns, one.choice.collection, self.ablation.vectors,
            self.output / "collections", (self.output / "shared.sqlite", repr(versions())) if self.sharing else None,
            self.restart,
        )  # fmt: skip
        label = f"{row.name} over {one.name}"
        result = _run(cell, self.progress(label), self.deadline)
        if result["status"] == "failed":
            logger.warning("%s failed: %s", label, result["message"])
        return {**known, **told, **result, "mark": mark}

    def _pipeline(self, row: Row) -> Path:
        return self.output / "pipelines" / f"{row.name}.yaml"


_warned: set[str] = set()


def _run(cell: Cell, progress: Progress, deadline: float | None) -> dict[str, Any]:
    """Run a cell in a process; its status, and what it told."""
    context = multiprocessing.get_context("forkserver")
    # The server imports what every cell needs once, and each cell begins as a copy of it.
    context.set_forkserver_preload(["convqa.experiments.cell"])
    ours, its = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(cell, its), daemon=True)
    process.start()
    its.close()
    try:
        result = _listen(ours, progress, deadline)
    finally:
        process.terminate()
        process.join()
    return result or {
        "status": "failed",
        "message": f"its process ended with code {process.exitcode}"
        + (" (was there memory enough?)" if process.exitcode == -9 else ""),
    }


def _listen(pipe: Connection, progress: Progress, deadline: float | None) -> dict[str, Any] | None:
    """What the cell ends with; None if its process went without a word."""
    while True:
        if not pipe.poll(None if deadline is None else max(0.0, deadline - time.monotonic())):
            return {"status": "stopped", "message": "the time was up; the same command goes on from there"}
        try:
            kind, *told = pipe.recv()
        except EOFError:
            return None
        if kind == "progress":
            progress(*told)
        elif kind == "warning":
            if told[0] not in _warned:
                _warned.add(told[0])
                logger.warning("%s", told[0])
        else:
            return {"status": "done", **told[0]} if kind == "done" else {"status": "failed", "message": told[0]}


def _read_input(path: Path, task: str, ablation: Ablation, turns: int | None, output: Path) -> _Input:
    """An input, read once to check it: how many turns count, and whether it gives a history."""
    check_place(output, path, None)
    kind = find_task(task, path)
    name = path.resolve().name.partition(".")[0]
    choice = ablation.inputs.get(name, InputChoice())
    count, given = 0, False
    for conversation in part_of(kind.read(path), choice.conversations, turns):
        count += len(conversation.turns)
        given = given or any(turn.history for turn in conversation.turns)
    if not count:
        raise InputError(f"{path}: no conversation is left to run. Raise --turns, or change conversations.")
    history = choice.history or ablation.history or ("gold" if given else "none")
    folder = path if path.is_dir() else path.parent
    stamp = " ".join(_stamp(file) for file in sorted(folder.iterdir()) if file.is_file())
    return _Input(name, path, kind, choice.model_copy(update={"history": history}), count, stamp)


def _stamp(file: Path) -> str:
    stat = file.stat()
    return f"{file.name} {stat.st_size} {stat.st_mtime_ns}"


def _check_names(ablation: Ablation, rows: Sequence[Row], inputs: Sequence[_Input], file: Path) -> None:
    """:raises InputError: for inputs of one name, and names in the file that no input has ever had."""
    names = [one.name for one in inputs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"two inputs are called {twice}: cells are named by them. Rename one folder.")
    known = {*names, *ablation.inputs}
    for row in rows:
        if unknown := next((name for name in row.inputs or () if name not in known), None):
            raise InputError(
                f"ablation {file}: row {row.name}: inputs: there is no input {unknown!r}.{nearest(unknown, known)}"
            )


def _record(output: Path) -> dict[str, Any]:
    """The record in a folder; {} where there is none that can be read."""
    try:
        data = orjson.loads((output / RECORD).read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return {}
    cells = data.get("cells") if isinstance(data, dict) else None
    whole = isinstance(cells, list) and all(
        isinstance(cell, dict) and {"row", "input"} <= cell.keys() for cell in cells
    )
    return data if whole else {}
