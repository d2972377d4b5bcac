"""The benchmarks: one home each. A module (or folder) here with a subclass of ``Task`` is a task; nothing registers."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from pathlib import Path

from convqa.errors import InputError, nearest
from convqa.tasks.base import Problem, Task

__all__ = ["Problem", "Task", "find_task", "tasks"]


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
        if name not in known:
            raise InputError(f"--task {name}: not known.{nearest(name, known)} Tasks: auto, {', '.join(known)}.")
        return known[name]
    if not path.exists():
        raise InputError(f"{path}: no such file or directory; wanted the input of a task, such as questions.json.")
    found = [task for task in known.values() if task.matches(path)]
    if len(found) == 1:
        return found[0]
    if found:
        names = " and ".join(task.name for task in found)
        raise InputError(f"{path}: looks like the input of {names}: say which with --task {found[0].name}.")
    raise InputError(
        f"{path}: this does not look like the input of any task ({', '.join(known)}): for QReCC, wanted a directory "
        f"with questions.json. If it is right all the same, name its task with --task."
    )
