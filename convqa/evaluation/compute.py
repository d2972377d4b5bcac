"""Evaluate a run against a truth, for any task."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from convqa.domain import TurnId
from convqa.errors import InputError, nearest
from convqa.evaluation.measures import score_measures
from convqa.evaluation.result import Evaluation, summaries
from convqa.files import log, read_json
from convqa.tasks import Task, find_scored_task
from convqa.tasks.base import Groups
from convqa.tasks.scores import Gold, GoldTurn

if TYPE_CHECKING:
    from convqa.models import Support

META = "run.meta.json"
"""The driver's file in the folder of a run that names its models."""


def evaluate(
    truth_path: str | Path,
    run_path: str | Path,
    *,
    task: str | Task = "auto",
    breakdown: Sequence[str] = (),
    measures: Sequence[str] = (),
    partial: bool = False,
    support: str | None = None,
    **options: Any,
) -> Evaluation:
    """Evaluate a run (directory or run file) against the truth (directory or truth file).

    :param task: auto (by the files), a task's name, or a task.
    :param breakdown: fields of the truth's records, or groups of the task (QReCC: ``history``).
    :param measures: further measures of rankings, such as ``nDCG@20``, ``P@5`` (with the package ir_measures) or
        those of other packages. The task's own measures are always scored.
    :param partial: score only the turns in the run; officially, missing turns count 0.
    :param support: the scorer for ALCE's citation recall and precision, in tasks that have them: lexical, support, or
        an NLI model.
    :param options: the task's own options (``Task.options``), such as QReCC's ``eval_missing_truth=True``.
    :raises InputError: where the official script would stop or crash, and for unknown breakdowns and options.
    """
    truth_path, run_path = Path(truth_path), Path(run_path)
    if isinstance(task, str):
        task = find_scored_task(task, truth_path, run_path)
    _check_options(task, options if support is None else [*options, "support"])
    if support is not None:
        options["support"] = support_scorer(support, run_path)
    task_options = task.options(**options)
    gold = task.gold(truth_path)
    meta = _meta(run_path)
    if meta.get("status", "done") != "done" and not task.has_run(run_path):
        problem = "this run is not finished. Give its command again to continue it."
        if "shard" in meta.get("fingerprint", {}):
            problem = "this is a shard of a run. Merge all shards first: convqa merge OUTPUT SHARD..."
        raise InputError(f"{run_path}: {problem}")
    run = task.read_run(run_path)
    groups = groups_of(task, gold, truth_path, breakdown)
    settings = task_options.to_json()
    if partial:
        settings["partial"] = True
        gold = task.part(gold, run)
        if not gold.turns:
            raise InputError(f"{run.path}: has no turn of {truth_path}, so there is nothing to score with --partial.")
    columns = task.score(gold, run, task_options)
    known = [column.measure.name for column in columns]
    further = [name for name in dict.fromkeys([*task.measures, *measures]) if name not in known]
    columns += score_measures(further, task.judged(gold, run), gold, known, task.measures)
    breakdowns = {}
    for name, members in groups.items():
        parts = {group: [column.of(ids) for column in columns] for group, ids in members.items()}
        breakdowns[name] = {group: summaries(part) for group, part in parts.items()}
    return Evaluation(task, gold, run, tuple(columns), summaries(columns), breakdowns, settings)


def _check_options(task: Task, names: Iterable[str]) -> None:
    """:raises InputError: for an option that the task lacks."""
    known = [field.name for field in fields(task.options)]
    for name in names:
        if name not in known:
            options = ["--" + option.replace("_", "-") for option in known]
            given = "--" + name.replace("_", "-")
            raise InputError(f"the task {task.name} has no option {given}.{nearest(given, options)}")


def groups_of(
    task: Task,
    gold: Gold[GoldTurn],
    truth_path: Path,
    names: Sequence[str],
) -> dict[str, Groups]:
    """Return the turns of each group of each breakdown, groups in order of appearance.

    :raises InputError: for an unknown breakdown.
    """
    own = task.breakdowns(gold, truth_path)
    known = list(own)
    for turn in gold.turns:
        known += turn.fields
    groups = {}
    for name in names:
        if name not in known and gold.turns:
            raise InputError(f"{gold.path}: no record has the field {name!r} to break down by.{nearest(name, known)}")
        groups[name] = own[name]() if name in own else _by_field(gold, name)
    return groups


def _by_field(gold: Gold[GoldTurn], name: str) -> Groups:
    groups: dict[str, list[TurnId]] = {}
    for turn in gold.turns:
        value = turn.fields.get(name, "(missing)")
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        groups.setdefault(text or "(empty)", []).append(turn.id)
    return {group: frozenset(ids) for group, ids in groups.items()}


def support_scorer(name: str, run_path: Path) -> Support:
    """Load a scorer (``convqa.models.load_support``) for the run at ``run_path`` (folder or file).

    A run that was filtered by a scorer always scores well with it: if the scorer is among the models in run.meta.json,
    a warning says so.

    :raises InputError: for an unknown name.
    """
    from convqa.models import load_support

    support = load_support(name)
    models = _meta(run_path).get("fingerprint", {}).get("models", {})
    for parts in models.values():
        if _weights(support.identity) in map(_weights, parts.values()):
            log.warning("--support %s: this run was built with it, which biases the scores", support.name)
    return support


def _meta(run_path: Path) -> dict[str, Any]:
    """Return the metadata of the run at this path (folder or file), {} if it has none."""
    file = (run_path if run_path.is_dir() else run_path.parent) / META
    return read_json(file, "the meta file of a run") if file.exists() else {}


def _weights(identity: str) -> str:
    """Return the checksum in an identity such as ``checksum (torch float32 on cpu)``."""
    return identity.partition(" (")[0]
