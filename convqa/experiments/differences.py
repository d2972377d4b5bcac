"""The differences of runs to a baseline in one measure, over the turns that all of them are scored on."""

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
"""Below this, an adjusted p counts as certain."""
_RESAMPLES = 5000
_AT_ONCE = 1000

Vector = NDArray[numpy.float64]
Part = tuple[str, str, frozenset[TurnId] | None]
"""A breakdown, a group of it, and its turns; None: all turns."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A run's measure less the baseline's, over the ``turns`` that all runs are scored on.

    ``low`` and ``high`` end its 95 % bootstrap interval, for which ``conversations`` are drawn. ``p`` is that of the
    paired randomisation test, ``adjusted`` the same after Holm's correction over all runs that are compared; both are
    None, as the interval's ends are, for a measure that is no mean. ``better``, ``same`` and ``worse`` count turns.
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
    """A difference that is not tested yet: ``gains`` are sums by conversation of the truth, each turn's by its weight.

    ``counts``: the turns of each conversation. Both are vectors, and None for a measure that is no mean.
    """

    part: Part
    difference: Difference
    scale: float = 1.0
    gains: Any = None
    counts: Any = None


def shared_scores(evaluations: Mapping[str, Evaluation], against: str, measure: str) -> dict[str, Scores]:
    """Run -> its scores, the baseline's first, of the turns that all runs are scored on, in the same order.

    A run without the measure is left out; without the baseline, another run or a turn there is nothing.
    """
    found = {name: evaluations[name].scores.get(measure) for name in (against, *evaluations)}
    columns = {name: scores for name, scores in found.items() if scores is not None}
    if against not in columns or len(columns) < 2:
        return {}
    if all(column.ids == columns[against].ids for column in columns.values()):
        return columns
    places = {name: _places(column.ids) for name, column in columns.items()}
    turns = [turn for turn in places[against] if all(turn in known for known in places.values())]
    return {name: column.at([places[name][turn] for turn in turns]) for name, column in columns.items() if turns}


def _places(ids: Sequence[TurnId]) -> dict[tuple[TurnId, int], int]:
    """Where each turn is; one that is there again is told apart by its number."""
    seen: Counter[TurnId] = Counter()
    places = {}
    for place, id in enumerate(ids):
        places[id, seen[id]] = place
        seen[id] += 1
    return places


def differences_of(
    scores: Mapping[str, Scores], against: str, conversations: Mapping[int | str, int], part: Part, seed: int
) -> Iterator[Row]:
    """The differences of a measure in a part; none where it has no value there.

    :param scores: what ``shared_scores`` gave; ``conversations``: the place of each conversation of the truth.
    """
    members = part[2]
    if scores and members is not None:
        within = [place for place, id in enumerate(scores[against].ids) if id in members]
        scores = {run: column.at(within) for run, column in scores.items()}
    if not scores or (was := value_of(base := scores[against])) is None:
        return
    talks = numpy.array([conversations[id.conversation] for id in base.ids])
    counts = numpy.bincount(talks, minlength=len(conversations)).astype(numpy.float64)
    sizes = {key: len(values) for key, values in base.by_group().items()}
    # A turn counts as much as it does in the mean, or in the mean of the groups' means.
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
    """The rows' differences with their tests and intervals, many at once."""
    made = [row.difference for row in rows]
    means = [place for place, row in enumerate(rows) if row.counts is not None]
    for start in range(0, len(means), _AT_ONCE):
        part = means[start : start + _AT_ONCE]
        chances = randomisation_tests(numpy.column_stack([rows[place].gains for place in part]), seed)
        for place, p in zip(part, chances, strict=True):
            made[place] = replace(made[place], p=p)
    alike: dict[bytes, list[int]] = {}
    for place in means:
        if made[place].low is None:
            alike.setdefault(rows[place].counts.tobytes(), []).append(place)
    for places in alike.values():
        counts = rows[places[0]].counts
        there = counts > 0
        sums = numpy.column_stack([rows[place].gains[there] for place in places]) * counts.sum()
        for place, ends in zip(places, intervals(sums, counts[there], seed, _RESAMPLES), strict=True):
            made[place] = _with_interval(made[place], rows[place].scale, *ends)
    return made


def _with_interval(one: Difference, scale: float, low: float, high: float) -> Difference:
    return replace(one, low=scale * low, high=scale * high)


def _own_interval(base: Scores, gains: Vector, seed: int) -> tuple[float, float]:
    """That of a macro average, for which conversations are drawn within groups, and of a single conversation."""
    parts = base.by_group(gains.tolist())
    owners = base.by_group([id.conversation for id in base.ids])
    return interval(list(parts.values()), seed, list(owners.values()), resamples=_RESAMPLES)
