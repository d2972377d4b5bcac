"""The benchmarks: one home each. A module (or folder) here with a subclass of ``Task`` is a task; nothing registers."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from convqa.errors import InputError, nearest
from convqa.tasks.base import Groups, Problem, Task
from convqa.tasks.scores import AnswerScorer, Gold, Judged, Measure, Options, Run, Scores

__all__ = [
    "AnswerScorer",
    "Gold",
    "Groups",
    "Judged",
    "Measure",
    "Options",
    "Problem",
    "Run",
    "Scores",
    "Task",
    "find_scored_task",
    "find_task",
    "tasks",
]


@cache
def tasks() -> dict[str, Task]:
    """All tasks by name."""
    found = {}
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        for member in vars(module).values():
            if isinstance(member, type) and issubclass(member, Task) and isinstance(getattr(member, "name", None), str):
                found[member.name] = member()
    return dict(sorted(found.items()))


def find_task(name: str, path: Path) -> Task:
    """The task of that name, or the one whose input ``path`` looks like if the name is ``auto``.

    :raises InputError: if the path is missing, the name unknown, or not exactly one task matches.
    """
    known = tasks()
    if name != "auto":
        return _named(name)
    if not path.exists():
        raise InputError(f"{path}: no such file or directory; wanted the input of a task, such as questions.json.")
    if not os.access(path, os.R_OK):
        raise InputError(f"{path}: cannot be read (permission denied); wanted the input of a task.")
    found = [task for task in known.values() if task.matches(path)]
    if found:
        return _only(found, f"{path}: looks like the input of")
    raise InputError(
        f"{path}: this does not look like the input of any task ({', '.join(known)}): for QReCC, wanted a directory "
        "with questions.json; for MRQA, JSON lines or SQuAD-format JSON, and for JWHR, its entries as JSON lines or an "
        "array, in a file or a directory of such files; for PolEval, in.tsv or questions.jl, or a directory with one "
        "of them; for ShARC, its utterances as a JSON array, or as JSON lines beside id2snippet.json. If it is right "
        "all the same, name its task with --task."
    )


def find_scored_task(name: str, truth: Path, run: Path) -> Task:
    """The task of that name, or, if it is ``auto``, the one whose truth and run these look like.

    :raises InputError: if the name is unknown, or not exactly one task matches.
    """
    if name != "auto":
        return _named(name)
    known = tasks().values()
    by_truth = [task for task in known if task.has_truth(truth)]
    by_run = [task for task in known if task.has_run(run)]
    found = [task for task in by_truth if task in by_run] or by_truth or by_run
    if found:
        return _only(found, f"{truth} and {run}: look like the truth and a run of")
    wanted = ", ".join(f"{task.truth_file} and {task.run_file} ({task.name})" for task in known)
    raise InputError(
        f"{truth} and {run}: these do not look like the truth and a run of any task; wanted {wanted}. "
        f"If they are right all the same, name their task with --task."
    )


def _named(name: str) -> Task:
    known = tasks()
    if name not in known:
        raise InputError(f"--task {name}: not known.{nearest(name, known)} Tasks: auto, {', '.join(known)}.")
    return known[name]


def _only(found: Sequence[Task], looks_like: str) -> Task:
    if len(found) > 1:
        names = " and ".join(task.name for task in found)
        raise InputError(f"{looks_like} {names}: say which with --task {found[0].name}.")
    return found[0]
