"""Evaluate a run against a truth, for any task; the means of measures are taken in ``result.py``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from convqa.domain import TurnId
from convqa.errors import InputError, nearest
from convqa.evaluation.result import Evaluation, Summaries, summaries
from convqa.evaluation.support import measuring
from convqa.tasks import Scores, Task, find_scored_task
from convqa.tasks.base import Groups
from convqa.tasks.scores import Gold, GoldTurn


def evaluate(
    truth_path: str | Path,
    run_path: str | Path,
    *,
    task: str | Task = "auto",
    breakdown: Sequence[str] = (),
    seed: int = 1,
    partial: bool = False,
    support: str | None = None,
    allow_same: bool = False,
    **options: Any,
) -> Evaluation:
    """Evaluate a run (directory or run file) against the truth (directory or truth file).

    :param task: auto (by the files' names), a task's name, or a task.
    :param breakdown: fields of the truth's records, or groups that the task knows (QReCC: ``history``).
    :param seed: of the bootstrap intervals, 0 or more.
    :param partial: score only the turns that the run has; officially it is punished for the others.
    :param support: the scorer by which ALCE's citation recall and precision are measured too, where the task has them:
        lexical, support, or an NLI model. One that the run was built with is refused unless ``allow_same``.
    :param options: the task's own (``Task.options``), such as QReCC's ``eval_missing_truth=True``.
    :raises InputError: for files at which the official script would stop or crash, and for unknown breakdowns and
        options.
    """
    truth_path, run_path = Path(truth_path), Path(run_path)
    if seed < 0:
        raise InputError(f"seed: found {seed}; wanted a whole number, 0 or more.")
    found = find_scored_task(task, truth_path, run_path) if isinstance(task, str) else task
    if support is not None:
        options["support"] = support
    known = [field.name for field in fields(found.options)]
    for name in options:
        if name not in known:
            raise InputError(
                f"the task {found.name} has no option {name!r} (--{name.replace('_', '-')}).{nearest(name, known)} "
                f"Known: {', '.join(known) or 'none'}."
            )
    if support is not None:
        options["support"] = measuring(support, run_path, allow_same)
    chosen = found.options(**options)
    gold, run = found.gold(truth_path), found.read_run(run_path)
    groups = groups_of(found, gold, truth_path, breakdown)
    if partial:
        gold = found.part(gold, run)
        if not gold.turns:
            raise InputError(f"{run.path}: has no turn of {truth_path}, so there is nothing to score with --partial.")
    columns = found.score(gold, run, chosen)
    parts = {name: _by_group(columns, members, seed) for name, members in groups.items()}
    said = {**chosen.to_json(), "seed": seed, **({"partial": True} if partial else {})}
    return Evaluation(found, gold, run, tuple(columns), summaries(columns, seed), parts, said)


def groups_of(task: Task, gold: Gold[GoldTurn], truth_path: Path, names: Sequence[str]) -> dict[str, Groups]:
    """Breakdown -> group -> its turns, groups in order of appearance.

    :raises InputError: for a breakdown that neither the task nor the truth knows.
    """
    own = task.breakdowns(gold, truth_path)
    known = [*own, *dict.fromkeys(name for turn in gold.turns for name in turn.fields)]
    for name in names:
        if name not in known and gold.turns:
            raise InputError(
                f"{gold.path}: no record has the field {name!r} to break down by.{nearest(name, known)} "
                f"Known: {', '.join(known)}."
            )
    return {name: own[name]() if name in own else _by_field(gold, name) for name in names}


def _by_field(gold: Gold[GoldTurn], name: str) -> Groups:
    found: dict[str, list[TurnId]] = {}
    for turn in gold.turns:
        value = turn.fields.get(name, "(missing)")
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        found.setdefault(text or "(empty)", []).append(turn.id)
    return {group: frozenset(ids) for group, ids in found.items()}


def _by_group(columns: Sequence[Scores], groups: Groups, seed: int) -> Mapping[str, Summaries]:
    """The summaries of each group, groups in their order."""
    groups_of: dict[TurnId, list[str]] = {}
    for group, ids in groups.items():
        for id in ids:
            groups_of.setdefault(id, []).append(group)
    parts = [column.split(groups_of) for column in columns]
    return {group: summaries([part[group] for part in parts if group in part], seed) for group in groups}
