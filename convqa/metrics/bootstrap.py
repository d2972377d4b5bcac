"""Percentile bootstrap of a mean (Efron 1979): how far it would move with another sample of as many turns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy
from numpy.typing import NDArray

_AT_ONCE = 200_000


def interval(
    groups: Sequence[Sequence[float]], seed: int, resamples: int = 1000, level: float = 0.95
) -> tuple[float, float]:
    """Low and high end of the interval of the mean of the groups' means; scores are drawn within each group.

    It is the same for the same scores in the same order and the same seed.

    >>> interval([[0.5, 0.5, 0.5]], seed=1), interval([[0.5, 0.5], [1.0]], seed=1)
    ((0.5, 0.5), (0.75, 0.75))

    :raises ValueError: without groups, or with one that has no scores.
    """
    if not groups or not all(groups):
        raise ValueError("an interval needs at least one score")
    generator = numpy.random.default_rng(seed)
    return _ends(numpy.mean([_means(scores, generator, resamples) for scores in groups], axis=0), level)


def interval_of_statistic(
    groups: Mapping[str, Sequence[float]],
    statistic: Callable[[Mapping[str, Sequence[float]]], float | None],
    seed: int,
    resamples: int = 1000,
    level: float = 0.95,
) -> tuple[float, float]:
    """The same of any number that groups of scores have, such as an AUC: scores are drawn within each group.

    ``statistic`` gives None where a sample has no such number, which is then left out.

    >>> interval_of_statistic({"a": [1.0, 1.0], "b": [0.0]}, lambda groups: max(groups["a"]), seed=1)
    (1.0, 1.0)

    :raises ValueError: without a sample that has the number.
    """
    generator = numpy.random.default_rng(seed)
    columns = {group: numpy.asarray(scores, dtype=numpy.float64) for group, scores in groups.items()}
    found = (
        statistic({group: generator.choice(column, len(column)).tolist() for group, column in columns.items()})
        for _ in range(resamples)
    )
    values = [value for value in found if value is not None]
    if not values:
        raise ValueError("an interval needs at least one sample that has the number")
    return _ends(values, level)


def _ends(samples: NDArray[numpy.float64] | Sequence[float], level: float) -> tuple[float, float]:
    low, high = numpy.quantile(samples, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _means(scores: Sequence[float], generator: numpy.random.Generator, resamples: int) -> NDArray[numpy.float64]:
    """The means of as many samples, each as large as there are scores."""
    values = numpy.asarray(scores, dtype=numpy.float64)
    means = numpy.empty(resamples)
    step = max(1, _AT_ONCE // len(values))
    for start in range(0, resamples, step):
        part = means[start : start + step]
        drawn = generator.integers(0, len(values), (len(part), len(values)))
        part[:] = values.take(drawn).mean(axis=1)
    return means
