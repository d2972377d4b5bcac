"""From the files of a truth and a run to an evaluation, for any task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from convqa.errors import InputError, nearest
from convqa.evaluation.breakdown import groups, split
from convqa.evaluation.result import Evaluation, summaries
from convqa.evaluation.support import measuring
from convqa.tasks import Task, find_scored_task


def evaluate(
    truth_path: Path,
    run_path: Path,
    *,
    task: str | Task = "auto",
    breakdown: Sequence[str] = (),
    seed: int = 1,
    support: str | None = None,
    allow_same: bool = False,
    **options: Any,
) -> Evaluation:
    """Evaluate a run (directory or run file) against the truth (directory or truth file).

    :param task: auto (by the files' names), a task's name, or a task.
    :param breakdown: fields of the truth's records, or groups that the task knows (QReCC: ``history``).
    :param seed: of the bootstrap intervals.
    :param support: the scorer by which ALCE's citation recall and precision are measured too, where the task has them:
        lexical, support, or an NLI model. One that the run was built with is refused unless ``allow_same``.
    :param options: the task's own (``Task.options``), such as QReCC's ``eval_missing_truth=True``.
    :raises InputError: for files at which the official script would stop or crash, and for unknown breakdowns and
        options.
    """
    found = find_scored_task(task, truth_path, run_path) if isinstance(task, str) else task
    _check(found, options if support is None else {**options, "support": support})
    if support is not None:
        options["support"] = measuring(support, run_path, allow_same)
    chosen = found.options(**options)
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


def _check(task: Task, given: Mapping[str, Any]) -> None:
    known = [field.name for field in fields(task.options)]
    for name in given:
        if name not in known:
            raise InputError(
                f"the task {task.name} has no option {name!r} (--{name.replace('_', '-')}).{nearest(name, known)} "
                f"Known: {', '.join(known) or 'none'}."
            )
