"""From the files of a truth and a run to an evaluation, for any task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from convqa.errors import InputError, nearest
from convqa.evaluation.breakdown import groups, split
from convqa.evaluation.result import Evaluation, summaries
from convqa.tasks import Options, Task, find_scored_task


def evaluate(
    truth_path: Path,
    run_path: Path,
    *,
    task: str | Task = "auto",
    breakdown: Sequence[str] = (),
    seed: int = 1,
    **options: Any,
) -> Evaluation:
    """Evaluate a run (directory or run file) against the truth (directory or truth file).

    :param task: auto (by the files' names), a task's name, or a task.
    :param breakdown: fields of the truth's records, or groups that the task knows (QReCC: ``history``).
    :param seed: of the bootstrap intervals.
    :param options: the task's own (``Task.options``), such as QReCC's ``eval_missing_truth=True``.
    :raises InputError: for files at which the official script would stop or crash, and for unknown breakdowns and
        options.
    """
    found = find_scored_task(task, truth_path, run_path) if isinstance(task, str) else task
    chosen = _options(found, options)
    gold, run = found.gold(truth_path), found.read_run(run_path)
    members = groups(found, gold, truth_path, breakdown)
    columns = found.score(gold, run, chosen)
    return Evaluation(
        found,
        gold,
        run,
        tuple(columns),
        summaries(columns, seed),
        {
            name: {group: summaries(part, seed) for group, part in split(columns, by_group).items()}
            for name, by_group in members.items()
        },
        {**chosen.to_json(), "seed": seed},
    )


def _options(task: Task, given: dict[str, Any]) -> Options:
    known = [field.name for field in fields(task.options)]
    for name in given:
        if name not in known:
            raise InputError(
                f"the task {task.name} has no option {name!r} (--{name.replace('_', '-')}).{nearest(name, known)} "
                f"Known: {', '.join(known) or 'none'}."
            )
    return task.options(**given)
