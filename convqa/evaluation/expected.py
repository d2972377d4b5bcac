"""Compare an evaluation with expected scores."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from convqa.errors import InputError
from convqa.evaluation.result import Evaluation
from convqa.files import read_json
from convqa.places import yaml_file
from convqa.safe_yaml import read_yaml
from convqa.validation import Record, read_as

_ROUNDED = 1e-6
"""Tolerance for expected values, which are rounded to about six digits."""


class Interval(Record, allow_inf_nan=False):
    """The expected interval of a measure, as ``convqa evaluate --json`` writes it."""

    mean: float
    low: float
    high: float
    turns: int | None = None


class Expected(Record):
    """A file of ``configs/benchmarks``, or the output of ``convqa evaluate --json`` for another run.

    :param run: the run that the scores are of: its file, or the command that makes it.
    """

    task: str
    run: str = ""
    measures: dict[str, Interval] = Field(min_length=1)


def read_expected(name: str) -> Expected:
    """Read expected scores, by the path of a file or the name of a shipped one.

    :raises InputError: if the file is missing or malformed.
    """
    path = Path(name) if Path(name).suffix else yaml_file(name, "--check", "configs", "benchmarks")
    advice = "Expected: task, and measures with mean, low and high of each."
    read = read_json if path.suffix == ".json" else read_yaml  # YAML takes 5e-05 for a string
    return read_as(Expected, read(path, "expected scores"), str(path), advice)


def moved(evaluation: Evaluation, expected: Expected) -> list[str]:
    """Describe each measure outside its expected interval.

    :raises InputError: if the expected scores are of another task.
    """
    if evaluation.task.name != expected.task:
        raise InputError(f"--check: the scores are of {expected.task}, but the run is of {evaluation.task.name}.")
    messages = []
    for name, interval in expected.measures.items():
        mean, low, high = interval.mean, interval.low, interval.high
        summary = evaluation.summaries.get(name)
        if summary is None:
            messages.append(f"{name}: has no value; expected {mean:.4g}")
        elif not low - _ROUNDED <= summary.mean <= high + _ROUNDED:
            messages.append(f"{name}: {summary.mean:.4g}; expected {mean:.4g} ({low:.4g} to {high:.4g})")
        elif interval.turns not in {None, summary.turns}:
            messages.append(f"{name}: rests on {summary.turns} turns; expected {interval.turns}")
    return messages
