"""Percentile bootstrap of a mean (Efron 1979): how far it would move with another sample of as many conversations.

Turns of one conversation are alike: a system that misses its topic misses several. So whole conversations are drawn
(the cluster bootstrap; Field and Welsh, JRSS B 2007); intervals of drawn turns would be too narrow. Of a single
conversation the turns are drawn: that says how they differ, and nothing about others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

import numpy
from numpy.typing import NDArray

_AT_ONCE = 200_000

Owners = Sequence[Sequence[Hashable]]
"""For each group, the conversation of each of its scores."""


def interval(
    groups: Sequence[Sequence[float]], seed: int, owners: Owners | None = None, resamples: int = 1000,
    level: float = 0.95,
) -> tuple[float, float]:  # fmt: skip
    """Low and high end of the interval of the mean of the groups' means.

    Conversations are drawn among those that have scores in the same groups, so that no sample lacks a group. The
    interval is the same for the same scores in the same order and the same seed.

    :param owners: None: each score is a conversation of its own.

    >>> interval([[0.5, 0.5, 0.5]], seed=1), interval([[0.5, 0.5], [1.0]], seed=1)
    ((0.5, 0.5), (0.75, 0.75))
    >>> interval([[0.0, 0.0, 1.0, 1.0]], seed=1, owners=[["a", "b", "a", "b"]])
    (0.5, 0.5)

    :raises ValueError: without groups, or with one that has no scores.
    """
    if not groups or not all(groups):
        raise ValueError("an interval needs at least one score")
    generator = numpy.random.default_rng(seed)
    sums, counts = numpy.zeros((resamples, len(groups))), numpy.zeros((resamples, len(groups)))
    for stratum in _strata(groups, owners):
        parts = [[[groups[group][place] for place in places] for group, places in one.items()] for one in stratum]
        held = list(stratum[0])
        sums_of = numpy.array([[sum(part) for part in one] for one in parts])
        counts_of = numpy.array([[len(part) for part in one] for one in parts], numpy.float64)
        for rows, drawn in _draws(len(stratum), len(held), generator, resamples):
            sums[rows, held] += sums_of[drawn].sum(axis=1)
            counts[rows, held] += counts_of[drawn].sum(axis=1)
    return ends((sums / counts).mean(axis=1), level)


def interval_of_statistic(
    groups: Mapping[str, Sequence[float]],
    statistic: Callable[[Mapping[str, Sequence[float]]], float | None],
    seed: int,
    owners: Owners | None = None,
    resamples: int = 1000,
    level: float = 0.95,
) -> tuple[float, float]:
    """The same of any number that groups of scores have, such as an AUC.

    ``statistic`` gives None where a sample has no such number, which is then left out.

    >>> interval_of_statistic({"a": [1.0, 1.0], "b": [0.0]}, lambda groups: max(groups["a"]), seed=1)
    (1.0, 1.0)

    :raises ValueError: without a sample that has the number.
    """
    generator = numpy.random.default_rng(seed)
    columns = [numpy.asarray(scores, dtype=numpy.float64) for scores in groups.values()]
    # By stratum and group: the places of all conversations' scores, and where in these each conversation's begin.
    strata = [
        (len(stratum), [(group, *_joined([one[group] for one in stratum])) for group in stratum[0]])
        for stratum in _strata(list(groups.values()), owners)
    ]
    values = []
    for _ in range(resamples):
        parts: list[list[NDArray[numpy.float64]]] = [[] for _ in columns]
        for size, held in strata:
            drawn = generator.integers(0, size, size)
            for group, places, starts, lengths in held:
                counts = lengths[drawn]
                begins = numpy.repeat(starts[drawn] - numpy.cumsum(counts) + counts, counts)
                parts[group].append(columns[group][places[begins + numpy.arange(len(begins))]])
        sample = {name: numpy.concatenate(part).tolist() for name, part in zip(groups, parts, strict=True)}
        values.append(statistic(sample))
    known = [value for value in values if value is not None]
    if not known:
        raise ValueError("an interval needs at least one sample that has the number")
    return ends(known, level)


def _joined(parts: Sequence[Sequence[int]]) -> tuple[NDArray[numpy.intp], NDArray[numpy.intp], NDArray[numpy.intp]]:
    """The parts in one array, where each begins in it, and how long it is."""
    lengths = numpy.array([len(part) for part in parts])
    return numpy.concatenate([numpy.asarray(part) for part in parts]), numpy.cumsum(lengths) - lengths, lengths


def _strata(groups: Sequence[Sequence[float]], owners: Owners | None) -> list[list[dict[int, list[int]]]]:
    """Conversations as {group: places of their scores}; those that have scores in the same groups stand together."""
    if owners is not None and len({name for names in owners for name in names}) < 2:
        owners = None
    found: dict[Hashable, dict[int, list[int]]] = {}
    for group, scores in enumerate(groups):
        names = [(group, place) for place in range(len(scores))] if owners is None else owners[group]
        for place, name in enumerate(names):
            found.setdefault(name, {}).setdefault(group, []).append(place)
    strata: dict[tuple[int, ...], list[dict[int, list[int]]]] = {}
    for conversation in found.values():
        strata.setdefault(tuple(conversation), []).append(conversation)
    return list(strata.values())


def _draws(
    count: int, width: int, generator: numpy.random.Generator, resamples: int
) -> Iterator[tuple[NDArray[numpy.intp], NDArray[numpy.int64]]]:
    """Samples of as many as there are, with replacement, some at a time: their rows, as a column, and what is drawn."""
    step = max(1, _AT_ONCE // (count * width))
    for start in range(0, resamples, step):
        rows = numpy.arange(start, min(start + step, resamples))
        yield rows[:, None], generator.integers(0, count, (len(rows), count))


def ends(samples: NDArray[numpy.float64] | Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """The quantiles that leave as much below as above them."""
    low, high = numpy.quantile(samples, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
