"""Differences of runs to a baseline in one measure, over the turns that are scored in all runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy
from numpy.typing import NDArray

from convqa.domain import TurnId
from convqa.evaluation import Evaluation
from convqa.evaluation.result import value_of
from convqa.metrics.bootstrap import interval
from convqa.metrics.paired import intervals, randomization_tests
from convqa.tasks.scores import Scores

SIGNIFICANCE_LEVEL = 0.05
"""An adjusted p below it is significant."""
RESAMPLES = 5000
"""Bootstrap samples of an interval."""
COLUMNS_AT_ONCE = 1000
"""Differences in one call of the tests, to bound memory."""

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

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "difference": self.difference}

    @property
    def certain(self) -> bool:
        return self.adjusted is not None and self.adjusted < SIGNIFICANCE_LEVEL


@dataclass(frozen=True, slots=True)
class UntestedDifference:
    """A difference before its test, with a vector of the conversations of the truth: their weighted gains and turns.

    Both vectors are None for a measure that is not a mean.
    """

    part: Part
    difference: Difference
    scale: float = 1.0
    gains: Vector | None = None
    turns: Vector | None = None


def shared_scores(
    evaluations: Mapping[str, Evaluation],
    against: str,
    measure: str,
) -> dict[str, Scores]:
    """Return the scores of each run, the baseline's first, for the turns that are scored in all runs, in one order.

    Runs without the measure are omitted. The result is empty without the baseline, another run or a shared turn.
    """
    columns: dict[str, Scores] = {}
    for name in (against, *evaluations):
        scores = evaluations[name].scores.get(measure)
        if scores is not None:
            columns[name] = scores
    if against not in columns or len(columns) < 2:
        return {}
    if all(column.ids == columns[against].ids for column in columns.values()):
        return columns
    indexes = {name: _indexes(column.ids) for name, column in columns.items()}
    turns = [turn for turn in indexes[against] if all(turn in known for known in indexes.values())]
    if not turns:
        return {}
    return {name: column.at([indexes[name][turn] for turn in turns]) for name, column in columns.items()}


def _indexes(ids: Sequence[TurnId]) -> dict[tuple[TurnId, int], int]:
    """Return the index of each turn and number of occurrence."""
    seen: Counter[TurnId] = Counter()
    indexes = {}
    for index, id in enumerate(ids):
        indexes[id, seen[id]] = index
        seen[id] += 1
    return indexes


def differences_of(
    scores: Mapping[str, Scores],
    against: str,
    conversations: Mapping[int | str, int],
    part: Part,
    seed: int,
) -> Iterator[UntestedDifference]:
    """Yield the differences of a measure in a part, if it has a value there.

    :param scores: the result of ``shared_scores``. :param conversations: the index of each conversation of the truth.
    """
    members = part[2]
    if not scores:
        return
    if members is not None:
        within = [index for index, id in enumerate(scores[against].ids) if id in members]
        scores = {run: column.at(within) for run, column in scores.items()}
    base = scores[against]
    base_value = value_of(base)
    if base_value is None:
        return
    owners = numpy.array([conversations[id.conversation] for id in base.ids])
    turns = numpy.bincount(owners, minlength=len(conversations)).astype(numpy.float64)
    weights = _weights(base)
    for run, column in scores.items():
        value = value_of(column)
        if run == against or value is None:
            continue
        difference = Difference(
            run,
            base.measure.name,
            mean=value,
            base=base_value,
            turns=len(base.ids),
            conversations=int((turns > 0).sum()),
        )
        if base.statistic is not None:
            yield UntestedDifference(part, difference)
            continue
        gains = numpy.subtract(column.values, base.values)
        better, worse = int((gains > 0).sum()), int((gains < 0).sum())
        difference = replace(difference, better=better, same=len(gains) - better - worse, worse=worse)
        scale = base.measure.scale
        if base.groups or difference.conversations == 1:
            low, high = _own_interval(base, gains, seed)
            difference = replace(difference, low=scale * low, high=scale * high)
        sums = numpy.bincount(owners, gains * weights, len(conversations)).astype(numpy.float64)
        yield UntestedDifference(part, difference, scale, sums, turns)


def _weights(scores: Scores) -> Vector:
    """Return the weight of each turn in the mean, or in the mean of the groups' means."""
    sizes = Counter(scores.groups)
    if not sizes:
        return numpy.full(len(scores.ids), 1 / len(scores.ids))
    return numpy.array([1 / sizes[group] / len(sizes) for group in scores.groups])


def tested(untested: Sequence[UntestedDifference], seed: int) -> list[Difference]:
    """Return the differences with tests and intervals, which are computed for many at once."""
    result = [row.difference for row in untested]
    gains = {index: row.gains for index, row in enumerate(untested) if row.gains is not None}
    for indexes in _chunks(list(gains), COLUMNS_AT_ONCE):
        p_values = randomization_tests(numpy.column_stack([gains[index] for index in indexes]), seed)
        for index, p in zip(indexes, p_values, strict=True):
            result[index] = replace(result[index], p=p)
    # Differences over the same turns share the draws of conversations.
    same_turns: dict[bytes, list[int]] = {}
    for index in gains:
        turns = untested[index].turns
        if result[index].low is None and turns is not None:
            same_turns.setdefault(turns.tobytes(), []).append(index)
    for data, indexes in same_turns.items():
        turns = numpy.frombuffer(data)
        scored = turns > 0
        sums = numpy.column_stack([gains[index][scored] for index in indexes]) * turns.sum()
        bounds = intervals(sums, turns[scored], seed, RESAMPLES)
        for index, (low, high) in zip(indexes, bounds, strict=True):
            scale = untested[index].scale
            result[index] = replace(result[index], low=scale * low, high=scale * high)
    return result


def _chunks(indexes: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    for start in range(0, len(indexes), size):
        yield indexes[start : start + size]


def _own_interval(base: Scores, gains: Vector, seed: int) -> tuple[float, float]:
    """Return the interval of a macro average, resampling within groups, or of a single conversation."""
    values = base.by_group(gains.tolist())
    owners = base.by_group([id.conversation for id in base.ids])
    return interval(list(values.values()), seed, list(owners.values()), RESAMPLES)
