"""Differences of runs to a baseline in one measure, over the turns that are scored in all runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy
from numpy.typing import NDArray

from convqa.domain import TurnId
from convqa.evaluation import Evaluation
from convqa.evaluation.result import value_of
from convqa.metrics.bootstrap import interval
from convqa.metrics.paired import intervals, randomisation_tests
from convqa.tasks.scores import Scores

CERTAIN = 0.05
"""The significance level of an adjusted p."""
_RESAMPLES = 5000
_AT_ONCE = 1000

Vector = NDArray[numpy.float64]
Part = tuple[str, str, frozenset[TurnId] | None]
"""A breakdown, a group of it, and its turns; None: all turns."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A run's measure minus the baseline's, over the ``turns`` that are scored in all runs.

    ``low`` and ``high`` bound its 95 % bootstrap interval over ``conversations``. ``p`` is from the paired
    randomization test, ``adjusted`` after Holm's correction over all compared runs. These are None for a measure that
    is not a mean. ``better``, ``same`` and ``worse`` count turns.
    """

    run: str
    measure: str
    mean: float
    base: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    adjusted: float | None = None
    better: int = 0
    same: int = 0
    worse: int = 0
    turns: int = 0
    conversations: int = 0

    @property
    def difference(self) -> float:
        return self.mean - self.base

    @property
    def certain(self) -> bool:
        return self.adjusted is not None and self.adjusted < CERTAIN


@dataclass(frozen=True, slots=True)
class Row:
    """A difference before its test. ``gains`` are the weighted sums of each conversation of the truth.

    ``counts``: the turns of each conversation. Both are vectors, None for a measure that is not a mean.
    """

    part: Part
    difference: Difference
    scale: float = 1.0
    gains: Any = None
    counts: Any = None


def shared_scores(evaluations: Mapping[str, Evaluation], against: str, measure: str) -> dict[str, Scores]:
    """Return the scores of each run, the baseline's first, for the turns that are scored in all runs, in one order.

    Runs without the measure are omitted. The result is empty without the baseline, another run or a shared turn.
    """
    scores_by_run = {name: evaluations[name].scores.get(measure) for name in (against, *evaluations)}
    columns = {name: scores for name, scores in scores_by_run.items() if scores is not None}
    if against not in columns or len(columns) < 2:
        return {}
    if all(column.ids == columns[against].ids for column in columns.values()):
        return columns
    indexes = {name: _indexes(column.ids) for name, column in columns.items()}
    turns = [turn for turn in indexes[against] if all(turn in known for known in indexes.values())]
    return {name: column.at([indexes[name][turn] for turn in turns]) for name, column in columns.items() if turns}


def _indexes(ids: Sequence[TurnId]) -> dict[tuple[TurnId, int], int]:
    """Return the index of each turn and number of occurrence."""
    seen: Counter[TurnId] = Counter()
    indexes = {}
    for index, id in enumerate(ids):
        indexes[id, seen[id]] = index
        seen[id] += 1
    return indexes


def differences_of(
    scores: Mapping[str, Scores], against: str, conversations: Mapping[int | str, int], part: Part, seed: int
) -> Iterator[Row]:
    """Yield the differences of a measure in a part, if it has a value there.

    :param scores: the result of ``shared_scores``. :param conversations: the index of each conversation of the truth.
    """
    members = part[2]
    if scores and members is not None:
        within = [index for index, id in enumerate(scores[against].ids) if id in members]
        scores = {run: column.at(within) for run, column in scores.items()}
    if not scores or (was := value_of(base := scores[against])) is None:
        return
    talks = numpy.array([conversations[id.conversation] for id in base.ids])
    counts = numpy.bincount(talks, minlength=len(conversations)).astype(numpy.float64)
    sizes = {key: len(values) for key, values in base.by_group().items()}
    # The weight of a turn in the mean, or in the mean of the groups' means.
    weights = numpy.array([1 / sizes[key] / len(sizes) for key in base.groups or [""] * len(base.ids)])
    for run, column in scores.items():
        if run == against or (now := value_of(column)) is None:
            continue
        one = Difference(run, base.measure.name, now, was, turns=len(base.ids), conversations=int((counts > 0).sum()))
        if base.statistic is not None:
            yield Row(part, one)
            continue
        gains = numpy.subtract(column.values, base.values)
        better, worse = int((gains > 0).sum()), int((gains < 0).sum())
        one = replace(one, better=better, same=len(gains) - better - worse, worse=worse)
        if base.groups or one.conversations == 1:
            one = _with_interval(one, base.measure.scale, *_own_interval(base, gains, seed))
        sums = numpy.bincount(talks, gains * weights, len(conversations))
        yield Row(part, one, base.measure.scale, sums, counts)


def tested(rows: Sequence[Row], seed: int) -> list[Difference]:
    """Return the rows' differences with tests and intervals, which are computed in batches."""
    result = [row.difference for row in rows]
    means = [index for index, row in enumerate(rows) if row.counts is not None]
    for start in range(0, len(means), _AT_ONCE):
        part = means[start : start + _AT_ONCE]
        p_values = randomisation_tests(numpy.column_stack([rows[index].gains for index in part]), seed)
        for index, p in zip(part, p_values, strict=True):
            result[index] = replace(result[index], p=p)
    by_counts: dict[bytes, list[int]] = {}
    for index in means:
        if result[index].low is None:
            by_counts.setdefault(rows[index].counts.tobytes(), []).append(index)
    for indexes in by_counts.values():
        counts = rows[indexes[0]].counts
        nonzero = counts > 0
        sums = numpy.column_stack([rows[index].gains[nonzero] for index in indexes]) * counts.sum()
        for index, bounds in zip(indexes, intervals(sums, counts[nonzero], seed, _RESAMPLES), strict=True):
            result[index] = _with_interval(result[index], rows[index].scale, *bounds)
    return result


def _with_interval(difference: Difference, scale: float, low: float, high: float) -> Difference:
    return replace(difference, low=scale * low, high=scale * high)


def _own_interval(base: Scores, gains: Vector, seed: int) -> tuple[float, float]:
    """Return the interval of a macro average, resampling within groups, or of a single conversation."""
    parts = base.by_group(gains.tolist())
    owners = base.by_group([id.conversation for id in base.ids])
    return interval(list(parts.values()), seed, list(owners.values()), resamples=_RESAMPLES)
