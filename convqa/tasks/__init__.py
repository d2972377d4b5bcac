"""The benchmarks, one home each: a folder here with a subclass of ``Task``, or an entry point of another package."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from convqa.errors import InputError, nearest
from convqa.files import log
from convqa.plugins import load, plugins
from convqa.tasks.base import Task
from convqa.tasks.scores import Measure, Options, Scores, option

__all__ = ["Measure", "Options", "Scores", "Task", "find_scored_task", "find_task", "option", "tasks"]

GROUP = "convqa.tasks"
"""The entry points of other packages' tasks: name = module:class."""


def tasks() -> dict[str, Task]:
    """All tasks by name, those of other packages too; one of these that cannot be loaded is left out."""
    found = dict(_own())
    for name in plugins(GROUP):
        try:
            found.setdefault(name, _outside(name))
        except InputError as error:
            log.warning("left out: %s", error)
    return dict(sorted(found.items()))


def find_task(name: str, path: Path) -> Task:
    """The task of that name, or the one whose input ``path`` looks like if the name is ``auto``.

    :raises InputError: if the path is missing, the name unknown, or not exactly one task matches.
    """
    if name != "auto":
        return _named(name)
    if not path.exists():
        raise InputError(f"{path}: no such file or directory; wanted the input of a task, such as questions.json.")
    if not os.access(path, os.R_OK):
        raise InputError(f"{path}: cannot be read (permission denied); wanted the input of a task.")
    known = tasks().values()
    if found := [task for task in known if task.has_input(path)]:
        return _only(found, f"{path}: looks like the input of")
    wanted = "; ".join(f"{task.input_file} ({task.name})" for task in known)
    raise InputError(
        f"{path}: this does not look like the input of any task; wanted a file, or a directory that holds it: "
        f"{wanted}. If it is right all the same, name its task with --task."
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
    if found := [task for task in by_truth if task in by_run] or by_truth or by_run:
        return _only(found, f"{truth} and {run}: look like the truth and a run of")
    wanted = ", ".join(f"{task.truth_file} and {task.run_file} ({task.name})" for task in known)
    raise InputError(
        f"{truth} and {run}: these do not look like the truth and a run of any task; wanted {wanted}. "
        f"If they are right all the same, name their task with --task."
    )


@cache
def _own() -> dict[str, Task]:
    """Convqa's own: a folder each, with the class in its module ``task``."""
    folders = [info.name for info in pkgutil.iter_modules(__path__) if info.ispkg]
    modules = [importlib.import_module(f"{__name__}.{folder}.task") for folder in folders]
    members = (member for module in modules for member in vars(module).values() if isinstance(member, type))
    return {cls.name: cls() for cls in members if issubclass(cls, Task) and cls is not Task}


def _outside(name: str) -> Task:
    """A task of another package.

    :raises InputError: naming what keeps its class from being a task of this name.
    """
    point = plugins(GROUP)[name]
    cls = load(point)
    texts = ("name", "input_file", "truth_file", "run_file", "default_pipeline")
    if not (isinstance(cls, type) and issubclass(cls, Task)):
        problem = "is no class derived from convqa.tasks.Task"
    elif lacking := [text for text in texts if not isinstance(getattr(cls, text, None), str)]:
        problem = f"lacks {', '.join(lacking)}"
    elif cls.name != name:
        problem = f"is called {cls.name!r}"
    else:
        try:
            return cls()
        except Exception as error:
            problem = f"cannot be made ({type(error).__name__}: {error})"
    raise InputError(f"task {name}: {point.value} (an entry point of {GROUP}) {problem}. Fix its package.")


def _named(name: str) -> Task:
    if name in _own():
        return _own()[name]
    if name in plugins(GROUP):
        return _outside(name)
    known = [*_own(), *plugins(GROUP)]
    raise InputError(f"--task {name}: not known.{nearest(name, known)} Tasks: auto, {', '.join(known)}.")


def _only(found: Sequence[Task], looks_like: str) -> Task:
    if len(found) > 1:
        names = " and ".join(task.name for task in found)
        raise InputError(f"{looks_like} {names}: say which with --task {found[0].name}.")
    return found[0]
