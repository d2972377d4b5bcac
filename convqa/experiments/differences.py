"""Differences of runs to a baseline, over the turns that are scored in all runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy
from numpy.typing import NDArray

from convqa.domain import TurnId
from convqa.evaluation import Evaluation
from convqa.evaluation.result import SEED, interval_of, value_of
from convqa.metrics.paired import randomization_tests
from convqa.tasks.scores import GoldTurn, Scores

SIGNIFICANCE_LEVEL = 0.05
"""An adjusted p below it is significant."""

Vector = NDArray[numpy.float64]


@dataclass(frozen=True, slots=True)
class Difference:
    """A run's measure minus the baseline's, over the ``turns`` that are scored in all runs.

    ``low`` and ``high`` bound its 95 % bootstrap interval over ``conversations``. ``p`` is from the paired
    randomization test over conversations, ``adjusted`` after Holm's correction over all compared runs; ``turns_p`` is
    from that over turns, as is usual in the tracks, None for a part of the turns. These are None for a measure that is
    not a mean. ``better``, ``same`` and ``worse`` count turns.
    """

    run: str
    measure: str
    mean: float
    base: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    adjusted: float | None = None
    turns_p: float | None = None
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
        return self.adjusted is not None and self.adjusted < SIGNIFICANCE_LEVEL


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
        scores = evaluations[name].scores
        if measure in scores:
            columns[name] = scores[measure]
    if against not in columns or len(columns) < 2:
        return {}
    if all(column.ids == columns[against].ids for column in columns.values()):
        return columns
    common = set.intersection(*(set(column.ids) for column in columns.values()))
    turns = [turn for turn in columns[against].ids if turn in common]
    shared = {}
    for name, column in columns.items():
        indexes = {turn: index for index, turn in enumerate(column.ids)}
        shared[name] = column.at([indexes[turn] for turn in turns])
    return shared if turns else {}


def differences_of(
    shared: Sequence[Mapping[str, Scores]],
    against: str,
    turns: Sequence[GoldTurn],
    members: Set[TurnId] | None = None,
) -> list[Difference]:
    """Return the differences of all measures over the turns in ``members``; None: all turns.

    :param shared: a result of ``shared_scores`` for each measure.
    :param turns: all turns of the truth, so that p depends neither on the other measures nor on their number of turns.
    """
    ids = dict.fromkeys(turn.id.conversation for turn in turns)
    conversations = {id: index for index, id in enumerate(ids)}
    result: list[Difference] = []
    tested: list[int] = []
    gains: list[Vector] = []
    turn_gains: list[Vector] = []
    for scores in shared:
        if members is not None:
            scores = {run: column.of(members) for run, column in scores.items()}
        base = scores[against]
        base_value = value_of(base)
        if base_value is None:
            continue
        owners = [conversations[id.conversation] for id in base.ids]
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
                turns=len(owners),
                conversations=len(set(owners)),
            )
            if base.statistic is None:
                by_turn = numpy.subtract(column.values, base.values)
                tested.append(len(result))
                gains.append(numpy.bincount(owners, by_turn * weights, len(conversations)).astype(numpy.float64))
                # Turns without a difference change nothing, so they fill the columns.
                turn_gains.append(numpy.pad(by_turn * weights, (0, len(turns) - len(owners))))
                difference = _with_interval(difference, base, by_turn)
            result.append(difference)
    if tested:
        # One test of many columns draws the assignments once.
        p_values = randomization_tests(numpy.column_stack(gains), SEED)
        by_turns: Sequence[float | None] = [None] * len(tested)
        if members is None:
            by_turns = randomization_tests(numpy.column_stack(turn_gains), SEED)
        for index, p, turns_p in zip(tested, p_values, by_turns, strict=True):
            result[index] = replace(result[index], p=p, turns_p=turns_p)
    return result


def _weights(scores: Scores) -> Vector:
    """Return the weight of each turn in the mean, or in the mean of the groups' means."""
    groups = scores.groups or [""] * len(scores.ids)
    sizes = Counter(groups)
    return numpy.array([1 / sizes[group] / len(sizes) for group in groups])


def _with_interval(
    difference: Difference,
    base: Scores,
    gains: Vector,
) -> Difference:
    """Return the difference with its interval and its counts of turns."""
    low, high = interval_of(replace(base, values=tuple(gains.tolist())))
    better, worse = int((gains > 0).sum()), int((gains < 0).sum())
    return replace(
        difference,
        low=low,
        high=high,
        better=better,
        same=len(gains) - better - worse,
        worse=worse,
    )
