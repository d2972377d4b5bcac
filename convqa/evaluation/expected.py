"""What a run is expected to score, and the measures that moved from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field

from convqa.errors import InputError, nearest
from convqa.evaluation.result import Evaluation
from convqa.places import shipped
from convqa.safe_yaml import read_yaml
from convqa.validation import Record, read_as

_ROUNDED = 1e-6
"""Expected values are written with six digits or so."""


class Interval(Record):
    """Where a measure is expected to lie, as ``convqa evaluate --json`` writes it."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)

    mean: float
    low: float
    high: float


class Expected(Record):
    """A file of ``configs/benchmarks``, or what ``convqa evaluate --json`` wrote of another run."""

    task: str
    measures: dict[str, Interval] = Field(min_length=1)


def read_expected(name: str) -> Expected:
    """What is expected, by the path of its file or the name of a shipped one.

    :raises InputError: if there is no such file, naming what is wrong in it.
    """
    path, known = Path(name), sorted(file.stem for file in shipped("configs", "benchmarks").glob("*.yaml"))
    if name in known:
        path = shipped("configs", "benchmarks", f"{name}.yaml")
    elif not path.suffix:
        raise InputError(
            f"--check {name}: nothing of this name ships.{nearest(name, known)} Known: {', '.join(known)}."
        )
    data: Any = read_yaml(path, "expected scores")
    return read_as(Expected, data, str(path), "Wanted: task, and measures with mean, low and high of each.")


def moved(evaluation: Evaluation, expected: Expected) -> list[str]:
    """What lies outside of the interval where it is expected, in words.

    :raises InputError: for expectations of another task.
    """
    if evaluation.task.name != expected.task:
        raise InputError(
            f"--check: these are scores of the task {expected.task}; the run is one of {evaluation.task.name}."
        )
    told = []
    for name, wanted in expected.measures.items():
        summary = evaluation.summaries.get(name)
        if summary is None:
            told.append(f"{name}: has no value; expected {wanted.mean:.4g}")
        elif not wanted.low - _ROUNDED <= summary.mean <= wanted.high + _ROUNDED:
            told.append(
                f"{name}: {summary.mean:.4g}; expected {wanted.mean:.4g} ({wanted.low:.4g} to {wanted.high:.4g})"
            )
    return told
