"""Measures of rankings by name: ``MRR``, ``nDCG@10``, those of entry points, and those of ir_measures."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from numbers import Real

from convqa.errors import InputError, nearest
from convqa.metrics.ranking import (
    ndcg,
    ranked,
    recall,
    reciprocal_rank,
)
from convqa.plugins import load_all
from convqa.tasks.scores import (
    Gold,
    GoldTurn,
    JudgedRankings,
    Measure,
    Scores,
)
from convqa.validation import shorten

GROUP = "convqa.measures"
"""The entry point group of further measures: name = module:function, a :data:`RankingMeasure`."""

RankingMeasure = Callable[[Collection[str], Sequence[str], int | None], float]
"""Scores a turn, given its relevant ids, the ranking (best first), and the cut-off (None: all)."""

_NAME = re.compile(r"(?P<family>[^@]+)(@(?P<cutoff>[1-9][0-9]*))?")

OWN: Mapping[str, RankingMeasure] = {"MRR": reciprocal_rank, "nDCG": ndcg, "R": recall}

Scorer = Callable[[Collection[str] | Mapping[str, int], Sequence[str]], float]
"""Scores a turn, given its relevant ids, or the grades of its judged ids, and the ranking."""


def find_measure(name: str) -> Scorer | None:
    """Return the measure of this name, such as ``R@100``; None if it is unknown.

    Grades are used by the measures of ir_measures, which therefore come first for them. For any other, ids with a grade
    above 0 are relevant.
    """
    match = _NAME.fullmatch(name)
    functions = {**load_all(GROUP), **OWN}
    by_grade = _ir_measure(name)
    if match is None or match["family"] not in functions:
        return by_grade
    measure = functions[match["family"]]
    cutoff = int(match["cutoff"]) if match["cutoff"] else None

    def score(relevant: Collection[str] | Mapping[str, int], ranking: Sequence[str]) -> float:
        if isinstance(relevant, Mapping):
            if by_grade is not None:
                return by_grade(relevant, ranking)
            relevant = [id for id, grade in relevant.items() if grade > 0]
        value: float = measure(relevant, ranking, cutoff)
        return value

    return score


def known_measures(names: Iterable[str]) -> list[str]:
    """Return the names that :func:`find_measure` knows. The others may be a task's own."""
    return [name for name in names if find_measure(name) is not None]


def _ir_measure(name: str) -> Scorer | None:
    """Return a measure of the package ir_measures, None if the package is missing or does not know it."""
    if find_spec("ir_measures") is None:
        return None
    import ir_measures

    try:
        measure = ir_measures.parse_measure(name)
    except (NameError, ValueError):
        return None

    def score(relevant: Collection[str] | Mapping[str, int], ranking: Sequence[str]) -> float:
        if not ranking:
            return 0.0
        grades = relevant if isinstance(relevant, Mapping) else dict.fromkeys(relevant, 1)
        # Ranks in place of scores, so that ties are broken as in our own measures.
        scores = {id: -float(rank) for rank, id in enumerate(ranking)}
        for metric in ir_measures.iter_calc([measure], {"turn": grades}, {"turn": scores}):
            return float(metric.value)
        return 0.0

    return score


def score_measures(
    names: Sequence[str],
    judged: JudgedRankings | None,
    gold: Gold[GoldTurn],
    known: Collection[str],
    official: Collection[str] = (),
) -> Iterator[Scores]:
    """Yield the scores of measures over the rankings of a run.

    :param judged: None if the task has no rankings.
    :param known: the task's own measures, for messages. :param official: those that its official file has.
    :raises InputError: for an unknown name, and for a measure whose result is not a number.
    """
    turns = {str(turn.id): turn.id for turn in gold.turns}
    for name in names:
        scorer = find_measure(name)
        if scorer is None:
            every = list(dict.fromkeys([*known, *OWN, *load_all(GROUP)]))
            more = "" if find_spec("ir_measures") else ", and with pip install ir-measures those of ir_measures"
            raise InputError(
                f"--measure {name}: unknown measure.{nearest(name, every)} Known: {', '.join(every)}, also with a "
                f"cut-off such as nDCG@10{more}."
            )
        if judged is None or not judged.relevant:
            yield Scores(Measure(name), skipped="no turn has a ranking and relevant passages")
            continue
        values: list[float] = []
        for turn, relevant in judged.relevant.items():
            ranking = ranked(judged.rankings.get(turn, {}))
            value = scorer(relevant, ranking)
            if not isinstance(value, Real) or not math.isfinite(value):
                raise InputError(f"--measure {name}: expected a finite number for turn {turn}, got {shorten(value)}.")
            values.append(float(value))
        ids = tuple(turns[turn] for turn in judged.relevant)
        yield Scores(Measure(name, name in official), ids, tuple(values))
