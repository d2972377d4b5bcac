"""A resumable run: read a task's input, answer its waves here or in workers, and write a run folder."""

from __future__ import annotations

import itertools
import logging
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from convqa.domain import Response, Turn
from convqa.driver.fingerprint import differences, fingerprint
from convqa.driver.folder import begin, finish
from convqa.driver.history import HistoryMode, checked, in_language
from convqa.driver.intake import Intake
from convqa.driver.journal import JOURNAL, Journal
from convqa.driver.summary import RunSummary
from convqa.driver.waves import BATCH_SIZE, WAIT_SECONDS, Submit, answer, drive, patiently
from convqa.errors import InputError, RunError
from convqa.files import unwritable
from convqa.models.once import once
from convqa.pipeline.build import build
from convqa.pipeline.document import PipelineDocument
from convqa.pipeline.pipeline import Pipeline
from convqa.tasks.base import Task
from convqa.workers import WorkerLost, Workers
from convqa.workers.shard import ALL, Shard

Progress = Callable[[int, int], None]
"""Called with (turns done, total turns)."""

logger = logging.getLogger(__name__)


def run(
    task: Task,
    input_path: Path,
    output: Path,
    pipeline: Pipeline,
    *,
    history: HistoryMode = "own",
    batch_size: int = BATCH_SIZE,
    limit: int | None = None,
    restart: bool = False,
    retry_errors: bool = False,
    wait: float = WAIT_SECONDS,
    shard: Shard | None = None,
    progress: Progress = lambda *_: None,
    workers: Workers | None = None,
) -> RunSummary:
    """Answer every turn of a task's input, or of a shard of it, and write the run folder. A shard has no run file.

    The fingerprint of the run has ``history``, ``batch_size``, ``limit`` and ``shard``.

    :param pipeline: a warm pipeline bound to its collection.
    :param workers: the workers that answer; None = this process.
    :raises InputError: for bad input, or a folder that holds another run.
    :raises RunError: if the work cannot continue; the journal keeps the answered turns.
    """
    start = time.perf_counter()
    language = pipeline.language
    conversations = checked(itertools.islice(task.read(input_path), limit), history)
    part = shard or ALL

    def in_shard(index: int) -> bool:
        return part.has(index // batch_size)

    with locked(output), closing(Intake(in_language(conversations, language), output, in_shard)) as intake:
        mark = fingerprint(
            pipeline,
            task=task.name,
            input=intake.digest,
            history=history,
            batch_size=batch_size,
            limit=limit,
        )
        own_mark = mark if shard is None else {**mark, "shard": str(shard)}
        meta = begin(output, own_mark, pipeline.document, task.run_file, restart, input_path, language)
        with closing(Journal(output / JOURNAL)) as journal:
            if retry_errors:
                journal.without_failures(intake)
            resumed = len(journal)
            at_once = workers.count if workers else 1
            progress(resumed, intake.turns)
            waves = drive(
                pipeline,
                intake,
                history,
                batch_size,
                wait,
                journal.get,
                submit=_in_workers(workers, pipeline, mark, wait) if workers else None,
                at_once=at_once,
                shard=part,
            )
            for wave in waves:
                journal.append(wave)
                progress(len(journal), intake.turns)
            summary = RunSummary(intake.conversations, resumed=resumed, given=journal.given, own=journal.own)
            write_run(summary, None if shard else task, output, pipeline.stages, intake, journal)
        summary.seconds = time.perf_counter() - start
        finish(output, meta, summary.to_json(), shard is not None)
    return summary


def write_run(
    summary: RunSummary,
    task: Task | None,
    output: Path,
    stages: frozenset[str],
    intake: Intake,
    journal: Journal,
) -> None:
    """Count the responses and write them as the task's run file. ``task``: None = only count, for a shard."""
    responses = summary.counting(journal.responses(turn.id for turn in intake.turns_in_order()))
    if task is None:
        for _ in responses:
            pass
    else:
        questions = (turn.question for turn in intake.turns_in_order())
        summary.run_file = task.write(responses, output, stages, questions)


def check_place(
    output: Path,
    input_path: Path,
    collection: str | None,
) -> None:
    """Check that the run folder is separate from the input and the collection.

    :param collection: the value of ``--collection``.
    :raises InputError: if it lies in one of them.
    """
    if str(output) in {"", "."}:
        raise InputError("OUTPUT is the current folder; name a folder for the run.")
    target = output.resolve()
    source = (input_path if input_path.is_dir() else input_path.parent).resolve()
    if target == source or (input_path.is_dir() and source in target.parents):
        raise InputError(f"output {output}: lies in the input {source.name}, which is read-only. Give another folder.")
    if collection is not None and Path(collection).resolve() in (target, *target.parents):
        raise InputError(f"output {output}: lies in the collection. Give another folder.")


@contextmanager
def locked(output: Path) -> Iterator[None]:
    """Lock an output folder against other runs. Remove it if it was created and stays empty."""
    new = not output.exists()
    try:
        output.mkdir(parents=True, exist_ok=True)
        lock = FileLock(output / ".lock", timeout=0)
        lock.acquire()
    except Timeout as error:
        raise InputError(
            f"output {output}: another run is writing into this folder. Wait for it, or give another folder."
        ) from error
    except OSError as error:
        raise unwritable(f"output {output}", error) from error
    try:
        yield
    finally:
        (output / ".lock").unlink(missing_ok=True)
        lock.release()
        if new and output.is_dir() and not any(output.iterdir()):
            output.rmdir()


def _in_workers(
    workers: Workers,
    pipeline: Pipeline,
    mark: Mapping[str, Any],
    wait: float,
) -> Submit:
    """Return a function that answers waves in workers, retrying for ``wait`` seconds while a store is unavailable.

    :param pipeline: a pipeline bound to its collection. :param mark: the run's fingerprint.
    """
    collection = pipeline.collection
    if collection and Path(collection).exists():
        collection = str(Path(collection).resolve())
    setup = WorkerSetup(pipeline.document, collection, mark)

    def ask(turns: Sequence[Turn]) -> list[Response]:
        try:
            return workers.call(setup.answer, turns)  # type: ignore[no-any-return]
        except WorkerLost as error:
            raise RunError(
                f"turns {turns[0].id} to {turns[-1].id} ({len(turns)} of one wave): {error}. Run again with fewer "
                "--workers if memory ran out; answered turns are kept."
            ) from error

    def submit(turns: Sequence[Turn]) -> Future[list[Response]]:
        return workers.submit(patiently, lambda: ask(turns), wait)

    return submit


@dataclass(frozen=True, slots=True)
class WorkerSetup:
    """Builds the pipeline in a worker. ``mark``: the run's fingerprint, which the worker must reproduce."""

    document: PipelineDocument
    collection: str | None
    mark: Mapping[str, Any]

    def answer(self, turns: Sequence[Turn]) -> list[Response]:
        """Answer a wave in this process, which keeps the pipeline."""
        pipeline = once(("pipeline", self.document.to_yaml(), self.collection), self._build)
        return [response.trimmed() for response in answer(pipeline, turns)]

    def _build(self) -> Pipeline:
        pipeline = build(self.document, "of the run")
        if self.collection is not None:
            pipeline.bind(self.collection)
        pipeline.warm_up()
        changed = differences(self.mark, {**self.mark, **fingerprint(pipeline)})
        if changed:
            raise InputError(
                f"the worker on {socket.gethostname()} differs from this process in: {', '.join(changed)}. "
                "Every machine needs the same versions, models and collection."
            )
        return pipeline
