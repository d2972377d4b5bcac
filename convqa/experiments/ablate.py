"""A grid of pipelines over inputs, one cell after the other, each an ordinary run folder with its evaluation.

A grid that was stopped continues with the same call: every cell goes on from its journal.
"""

from __future__ import annotations

import logging
import multiprocessing
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import orjson

from convqa.driver.fingerprint import SHAPING_TORCH, versions
from convqa.driver.run import check_place, locked
from convqa.errors import InputError, nearest
from convqa.experiments.cell import Cell, part_of, work
from convqa.experiments.grid import Ablation, InputChoice, Row, baseline_of, read_ablation, rows_of
from convqa.files import mend, whole_file
from convqa.pipeline.load import load
from convqa.tasks import Task, find_task, tasks

RECORD = "ablation.json"
"""The file in the output folder that says what was run, and what came of each cell."""

Progress = Callable[[int, int], None]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """``turns``: of each input at most, in whole conversations. ``minutes``: of this call; the next one continues."""

    turns: int | None = None
    minutes: float | None = None


@dataclass(frozen=True, slots=True)
class _Input:
    """An input and how it is run; ``turns`` are those that count."""

    name: str
    path: Path
    task: Task
    choice: InputChoice
    turns: int

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
    """Run every row of an ablation over every input; return the record, which is also in ``OUTPUT/ablation.json``.

    A cell that was finished before is only evaluated again; one whose pipeline, input, models or collection changed
    since is run anew. A cell that fails is recorded, and the others go on.

    :param name: the ablation's file, or the name of a shipped one.
    :param sharing: reuse results that other cells have computed.
    :param restart: throw away the runs that the output folder holds.
    :param progress: returns, for the label of a cell that begins, a function that receives (turns done, turns in all).
    :raises InputError: for a mistake in the file, a row or an input, before any cell is run.
    """
    ablation, file = read_ablation(name)
    rows = rows_of(ablation, file)
    baseline = baseline_of(ablation, rows, file)
    if name_of_task := next((kind.name for kind in tasks().values() if kind.has_input(output)), None):
        raise InputError(f"output {output}: is an input of {name_of_task}; the last folder is the output. Add one.")
    sources = [_read_input(path.resolve(), task, ablation, limits.turns, output) for path in inputs]
    _check_names(ablation, rows, sources, file)
    deadline = None if limits.minutes is None else time.monotonic() + 60 * limits.minutes
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
        for source in sources:
            for row in rows:
                if row.inputs is not None and source.name not in row.inputs:
                    continue
                cell = Cell(
                    source.task.name, source.path, pipelines[row.name], row.settings(source.path),
                    Path("cells", row.name, source.name), output, source.choice.history or "none",
                    source.choice.conversations, limits.turns, source.choice.collection, ablation.vectors,
                    salt if sharing else None, restart,
                )  # fmt: skip
                record["cells"].append(_result(cell, row.name, source.name, deadline, progress))
                with whole_file(output / RECORD) as stream:
                    stream.write(orjson.dumps(mend(record)[0], option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    known = {measure for cell in record["cells"] for measure in cell["measures"]}
    for measure in ablation.measures:
        if known and measure not in known:
            logger.warning("%s: measures: no cell has %s.%s", file, measure, nearest(measure, known))
    return record


def read_record(output: Path) -> dict[str, Any]:
    """The record that ``convqa ablate`` wrote into an output folder.

    :raises InputError: if there is none.
    """
    try:
        record = orjson.loads((output / RECORD).read_bytes())
    except (OSError, orjson.JSONDecodeError):
        record = None
    if isinstance(record, dict) and record:
        return record
    raise InputError(f"{output}: no ablation: {RECORD} is missing or damaged. Wanted is a folder of convqa ablate.")


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


def _result(
    cell: Cell, row: str, source: str, deadline: float | None, progress: Callable[[str], Progress]
) -> dict[str, Any]:
    """Run a cell and return its part of the record."""
    result: dict[str, Any] = {
        "row": row, "input": source, "folder": str(cell.folder), "status": "skipped", "message": "",
        "milliseconds": {}, "measures": {},
    }  # fmt: skip
    if missing := next((value for value in cell.settings.values() if not Path(value).exists()), None):
        return result | {"message": f"there is no {missing}"}
    if deadline is not None and time.monotonic() >= deadline:
        return result | {"status": "stopped", "message": "no time was left"}
    label = f"{row} over {source}"
    return result | _run(cell, progress(label), deadline)


def _version(library: str) -> str | None:
    return metadata.version(library) if find_spec(library) else None


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
    """Read an input once: check it, count its turns and see whether it gives a history."""
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
            "%s gives no earlier answers, so that every turn is answered as if it were the first and rewriters change "
            "nothing. Set history: own in the ablation to use each row's own answers.", name,
        )  # fmt: skip
    return _Input(name, path, kind, choice.model_copy(update={"history": history}), count)


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
