"""Percentile bootstrap intervals (Efron 1979) that draw conversations.

The turns of a conversation are correlated, since a system that misses its topic misses several. Intervals from drawn
turns would be too narrow, so whole conversations are drawn (the cluster bootstrap; Field and Welsh, JRSS B 2007). If
there is only one, its turns are drawn, which says nothing about other conversations.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import chain
from typing import TypeVar

import numpy
from numpy.typing import NDArray

RESAMPLES = 1000
MAX_DRAWS = 100_000
"""Draws in memory at once."""

Group = TypeVar("Group", int, str)

Owners = Sequence[Sequence[Hashable]]
"""For each group, the conversation of each of its scores."""


def interval(
    groups: Sequence[Sequence[float]],
    seed: int,
    owners: Owners | None = None,
) -> tuple[float, float]:
    """95 % interval of the mean of the groups' means. It is deterministic for the same seed and order of scores.

    Conversations are drawn among those with scores in the same groups, so that no sample lacks a group.

    :param owners: None: each score is a conversation of its own.

    >>> interval([[0.5, 0.5, 0.5]], seed=1), interval([[0.5, 0.5], [1.0]], seed=1)
    ((0.5, 0.5), (0.75, 0.75))
    >>> interval([[0.0, 0.0, 1.0, 1.0]], seed=1, owners=[["a", "b", "a", "b"]])
    (0.5, 0.5)
    """
    generator = numpy.random.default_rng(seed)
    # The sum and the number of the scores that are drawn, for each sample and group.
    drawn = numpy.zeros((RESAMPLES, len(groups), 2))
    for stratum in _strata(dict(enumerate(groups)), owners):
        columns = list(stratum[0])
        totals = numpy.array([[(sum(scores), len(scores)) for scores in part.values()] for part in stratum])
        batch = max(1, MAX_DRAWS // len(stratum))
        for start in range(0, RESAMPLES, batch):
            rows = range(start, min(start + batch, RESAMPLES))
            indexes = generator.integers(0, len(stratum), (len(rows), len(stratum)))
            drawn[numpy.ix_(rows, columns)] += totals[indexes].sum(axis=1)
    return percentile_interval((drawn[..., 0] / drawn[..., 1]).mean(axis=1))


def interval_of_statistic(
    groups: Mapping[str, Sequence[float]],
    statistic: Callable[[Mapping[str, Sequence[float]]], float | None],
    seed: int,
    owners: Owners | None = None,
) -> tuple[float, float]:
    """95 % interval of any statistic of groups of scores, such as an AUC.

    Samples for which ``statistic`` returns None are left out.

    >>> interval_of_statistic({"a": [1.0, 1.0], "b": [0.0]}, lambda groups: max(groups["a"]), seed=1)
    (1.0, 1.0)
    """
    generator = numpy.random.default_rng(seed)
    strata = _strata(groups, owners)
    values = []
    for _ in range(RESAMPLES):
        sample: dict[str, list[float]] = {name: [] for name in groups}
        for conversations in strata:
            drawn = generator.integers(0, len(conversations), len(conversations))
            for index in drawn.tolist():
                for name, scores in conversations[index].items():
                    sample[name] += scores
        value = statistic(sample)
        if value is not None:
            values.append(value)
    return percentile_interval(values)


def _strata(
    groups: Mapping[Group, Sequence[float]],
    owners: Owners | None,
) -> list[list[dict[Group, list[float]]]]:
    """Return conversations as {group: their scores}, in lists of those with scores in the same groups."""
    if owners is None or len(set(chain.from_iterable(owners))) < 2:
        owners = [[(group, index) for index in range(len(scores))] for group, scores in groups.items()]
    conversations: dict[Hashable, dict[Group, list[float]]] = {}
    for (group, scores), names in zip(groups.items(), owners, strict=True):
        for name, score in zip(names, scores, strict=True):
            by_group = conversations.setdefault(name, {})
            by_group.setdefault(group, []).append(score)
    strata: dict[tuple[Group, ...], list[dict[Group, list[float]]]] = {}
    for conversation in conversations.values():
        strata.setdefault(tuple(conversation), []).append(conversation)
    return list(strata.values())


def percentile_interval(
    samples: NDArray[numpy.float64] | Sequence[float],
) -> tuple[float, float]:
    """Return the 2.5 % and 97.5 % quantiles."""
    low, high = numpy.quantile(samples, [0.025, 0.975])
    return float(low), float(high)
