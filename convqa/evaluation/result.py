"""The result of an evaluation: scores by turn, and their means with intervals, overall and by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import (
    asdict,
    dataclass,
    field,
)
from typing import Any

from convqa.metrics.bootstrap import interval, interval_of_statistic
from convqa.tasks.base import Task
from convqa.tasks.scores import (
    Gold,
    GoldTurn,
    Measure,
    Run,
    Scores,
)

SEED = 1
"""The seed of the intervals and tests."""


@dataclass(frozen=True, slots=True)
class ScoreSummary:
    """The mean over ``turns`` turns (or the macro average or statistic), with its 95 % bootstrap interval, for which
    conversations are drawn.
    """

    mean: float
    low: float
    high: float
    turns: int


def value_of(scores: Scores) -> float | None:
    """Return the mean, macro average or statistic of scores; None if they have no value."""
    if not scores.values:
        return None
    scale = scores.measure.scale
    groups = scores.by_group()
    if scores.statistic is None:
        return sum(_mean(values, scale) for values in groups.values()) / len(groups)
    value = scores.statistic(groups)
    return None if value is None else scale * value


def interval_of(scores: Scores) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of scores, for which conversations are drawn."""
    groups = scores.by_group()
    owners = list(scores.by_group([id.conversation for id in scores.ids]).values())
    if scores.statistic is None:
        low, high = interval(list(groups.values()), SEED, owners)
    else:
        low, high = interval_of_statistic(groups, scores.statistic, SEED, owners)
    scale = scores.measure.scale
    return scale * low, scale * high


def _mean(values: Sequence[float], scale: float) -> float:
    """Sum, scale and divide in the order of the official scripts, so that the result is the same to the last bit."""
    total = 0.0
    for value in values:
        total += value
    return scale * total / len(values)


Summaries = Mapping[str, ScoreSummary]


def summaries(columns: Sequence[Scores]) -> Summaries:
    """Return the summary of each measure that has a value."""
    by_name = {}
    for column in columns:
        mean = value_of(column)
        if mean is not None:
            low, high = interval_of(column)
            by_name[column.measure.name] = ScoreSummary(mean, low, high, len(column.values))
    return by_name


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The evaluation of a run.

    ``columns``: the task's scores, in its order. ``breakdowns``: field -> group -> measure -> summary.
    """

    task: Task
    gold: Gold[GoldTurn] = field(repr=False)
    run: Run = field(repr=False)
    columns: tuple[Scores, ...] = field(repr=False)
    summaries: Summaries
    breakdowns: Mapping[str, Mapping[str, Summaries]]
    options: Mapping[str, Any]

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures with a line of their own, in the order of the table."""
        return tuple(column.measure for column in self.columns if not column.measure.line)

    @property
    def scores(self) -> dict[str, Scores]:
        """Measure -> its scores by turn, if it has any."""
        return {column.measure.name: column for column in self.columns if column.values}

    @property
    def skipped(self) -> dict[str, str]:
        """Measure -> the reason why it has no value."""
        return {column.measure.name: column.skipped for column in self.columns if column.skipped}

    def to_json(self) -> dict[str, Any]:
        """Return the output of ``--json``, which lacks the scores by turn."""
        breakdowns = {
            name: {group: _to_json(summaries) for group, summaries in groups.items()}
            for name, groups in self.breakdowns.items()
        }
        return {
            "task": self.task.name,
            "truth": str(self.gold.path),
            "run": str(self.run.path),
            "options": dict(self.options),
            "measures": _to_json(self.summaries),
            "skipped": self.skipped,
            "breakdowns": breakdowns,
        }


def _to_json(summaries: Summaries) -> dict[str, Any]:
    return {name: asdict(summary) for name, summary in summaries.items()}
