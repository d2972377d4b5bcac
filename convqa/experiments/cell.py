"""One cell of an ablation: a pipeline over an input, run and evaluated in a separate process.

A cell therefore has realistic timings, and a crash ends only this cell.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from convqa.domain import Conversation
from convqa.driver.fingerprint import SHAPING_TORCH, versions
from convqa.driver.run import run
from convqa.driver.summary import RunSummary
from convqa.errors import InputError, OtherRun, WorkError, counted
from convqa.evaluation import evaluate, write_official, write_turns
from convqa.evaluation.measures import known_measures
from convqa.experiments.grid import Conversations
from convqa.experiments.record import AblationInput
from convqa.indexing import add_vectors, collection_for, index_sources
from convqa.models import load_encoder
from convqa.models.folder import file_hash
from convqa.models.shared import share
from convqa.pipeline.load import load
from convqa.qa import ready
from convqa.stores import exists
from convqa.tasks import Task, find_task


@dataclass(frozen=True, slots=True)
class Cell:
    """The settings of a cell. ``folder``: the run's folder within ``output``, the ablation's folder.

    ``vectors``: an encoder whose vectors the collection needs; the collection is then made in the ablation's folder.
    ``sharing``: whether to look results up that other cells computed.
    """

    input: AblationInput
    pipeline: Path
    settings: Mapping[str, Any]
    folder: Path
    output: Path
    turns: int | None
    vectors: str | None
    measures: Sequence[str]
    sharing: bool
    restart: bool


def part_of(
    conversations: Iterable[Conversation],
    part: Conversations,
    turns: int | None = None,
) -> Iterator[Conversation]:
    """Yield the odd or even conversations, or all, up to a total number of turns.

    :raises InputError: for a conversation without a number, if the part is odd or even.
    """
    used = 0
    for conversation in conversations:
        if part != "all":
            try:
                number = int(conversation.id)
            except ValueError:
                raise InputError(
                    f"conversation {conversation.id!r} has no number, so that it is neither odd nor even; "
                    "expected conversations: all."
                ) from None
            if number % 2 != (part == "odd"):
                continue
        used += len(conversation.turns)
        if turns is not None and used > turns:
            return
        yield conversation


def work(cell: Cell) -> dict[str, Any]:
    """Run and evaluate a cell, and return its part of the record."""
    if cell.sharing:
        libraries = versions()
        for name in SHAPING_TORCH:
            if find_spec(name):
                libraries[name] = metadata.version(name)
        share(cell.output / "shared.sqlite", salt=repr(libraries))
    source = Path(cell.input.path)
    task = find_task(cell.input.task, source)
    is_part = cell.input.conversations != "all" or cell.turns is not None
    pipeline = load(cell.pipeline, cell.settings)
    collection = None
    if pipeline.needs_collection or cell.input.collection:
        collection = _collection(cell, task)
    pipeline = ready(pipeline, collection)
    folder = cell.output / cell.folder
    part = _part(task, cell) if is_part else task
    answer = partial(
        run,
        part,
        source,
        folder,
        pipeline,
        history=cell.input.history,
    )
    try:
        summary = answer(restart=cell.restart)
    except OtherRun:
        summary = answer(restart=True)
    turns = max(summary.turns, 1)
    milliseconds = {node: round(1000 * seconds / turns, 3) for node, seconds in sorted(summary.timings.items())}
    result: dict[str, Any] = {"milliseconds": milliseconds, "message": _failures(summary)}
    if cell.input.truth is None:
        return result
    measures = known_measures(cell.measures)
    truth = Path(cell.input.truth)
    evaluation = evaluate(
        truth,
        folder,
        task=task if task.has_truth(truth) else "trec",
        measures=measures,
        partial=is_part,
    )
    write_official(evaluation, folder)
    write_turns(evaluation, folder / "turns.jsonl")
    result["measures"] = {name: asdict(summary) for name, summary in evaluation.summaries.items()}
    return result


def _failures(summary: RunSummary) -> str:
    """Return how many turns failed and why the first one did, or "".

    :raises WorkError: if all turns failed.
    """
    if not summary.failures:
        return ""
    failure = summary.failures[0][1]
    reason = f"{failure.stage}: {failure.error}: {failure.message}"
    if len(summary.failures) == summary.turns:
        raise WorkError(f"every turn failed, the first in {reason}")
    return f"{counted(len(summary.failures), 'turns')} failed, the first in {reason}"


def _part(task: Task, cell: Cell) -> Task:
    """Return a copy of the task that reads only a part of its input."""
    of_part = copy.copy(task)
    read = partial(part_of, part=cell.input.conversations, turns=cell.turns)
    setattr(of_part, "read", lambda path: read(task.read(path)))  # noqa: B010 - mypy knows read as a method
    return of_part


def _collection(cell: Cell, task: Task) -> str:
    """Return the URL of the cell's collection. With ``vectors``, the input's own passages are indexed."""
    source = Path(cell.input.path)
    if cell.input.collection or not cell.vectors:
        return collection_for(
            task,
            source,
            cell.input.collection,
            task.language,
        )
    folder = source if source.is_dir() else source.parent
    file = folder / "passages.jsonl"
    if not file.is_file():
        file = folder / "passages.jsonl.gz"
    if not file.is_file():
        raise InputError(
            f"{folder}: missing passages.jsonl to index with vectors. Index its passages with convqa index --vectors "
            f"{cell.vectors}, and set inputs.{folder.name}.collection."
        )
    # The name contains a digest, so that changed passages are indexed again.
    url = str(cell.output / "collections" / f"{folder.name}-{file_hash(file)[:8]}")
    if not exists(url):
        index_sources([file], url, language=task.language)
    add_vectors(url, load_encoder(cell.vectors))
    return url
