"""Benchmarks: each is a subclass of ``Task`` that an entry point names, of convqa or of another package."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from convqa.errors import InputError, nearest
from convqa.files import log
from convqa.plugins import load, plugins
from convqa.tasks.base import Task
from convqa.tasks.scores import Measure, ScoreOptions, Scores, option

__all__ = [
    "Measure",
    "ScoreOptions",
    "Scores",
    "Task",
    "find_scored_task",
    "find_task",
    "option",
    "tasks",
]

GROUP = "convqa.tasks"
"""The entry point group of tasks: name = module:class."""


def tasks() -> dict[str, Task]:
    """Return all tasks by name. A task that cannot be loaded is left out with a warning."""
    all_tasks = {}
    for name in sorted(plugins(GROUP)):
        try:
            all_tasks[name] = _named(name)
        except InputError as error:
            log.warning("left out: %s", error)
    if not all_tasks:
        raise InputError("convqa has no tasks, because its entry points are not installed; run: pip install -e .")
    return all_tasks


def find_task(name: str, path: Path) -> Task:
    """Return the task of that name or, for ``auto``, the task whose input ``path`` looks like.

    :raises InputError: if the path is missing, the name unknown, or not exactly one task matches.
    """
    if name != "auto":
        return _named(name)
    if not path.exists():
        raise InputError(f"{path}: no such file or directory; expected the input of a task.")
    known = tasks().values()
    if matches := [task for task in known if task.has_input(path)]:
        return _only(matches, f"{path}: looks like the input of")
    truths = [task for task in known if task.has_truth(path)]
    if len(truths) == 1:
        name, file = truths[0].name, truths[0].input_file
        raise InputError(f"{path}: has the truth of {name} and not its input; expected {file}.")
    expected = "; ".join(f"{task.input_file} ({task.name})" for task in known)
    raise InputError(
        f"{path}: this does not look like the input of any task; expected {expected}. Name the task with --task."
    )


def find_scored_task(
    name: str,
    truth: Path,
    run: Path,
) -> Task:
    """Return the task of that name or, for ``auto``, the task whose truth and run these look like.

    :raises InputError: if the name is unknown, or not exactly one task matches.
    """
    if name != "auto":
        return _named(name)
    known = tasks().values()
    by_truth = [task for task in known if task.has_truth(truth)]
    by_run = [task for task in known if task.has_run(run)]
    if matches := [task for task in by_truth if task in by_run] or by_truth or by_run:
        return _only(matches, f"{truth} and {run}: look like the truth and a run of")
    if any(task.has_truth(run) and task.has_run(truth) for task in known):
        raise InputError(f"{truth} looks like a run, and {run} like its truth: give the truth first, then the run.")
    expected = ", ".join(f"{task.truth_file} and {task.run_file} ({task.name})" for task in known)
    raise InputError(
        f"{truth} and {run}: these do not look like the truth and a run of any task; expected {expected}. "
        "Name the task with --task."
    )


def _named(name: str) -> Task:
    points = plugins(GROUP)
    if name not in points:
        known = sorted(points)
        raise InputError(f"--task {name}: unknown task.{nearest(name, known)} Tasks: auto, {', '.join(known)}.")
    cls = load(points[name])
    try:
        task = cls()
    except TypeError as error:  # such as a missing method
        raise InputError(f"task {name}: {points[name].value}: {error}. Fix its package.") from error
    if not isinstance(task, Task) or task.name != name:
        raise InputError(f"task {name}: {points[name].value}: expected a subclass of Task with this name.")
    return task


def _only(matches: Sequence[Task], looks_like: str) -> Task:
    if len(matches) > 1:
        names = " and ".join(task.name for task in matches)
        raise InputError(f"{looks_like} {names}: choose one with --task {matches[0].name}.")
    return matches[0]
