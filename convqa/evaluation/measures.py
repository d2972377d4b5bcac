"""Measures of rankings by name: ``MRR``, ``nDCG@10``, those of entry points, and those of ir_measures."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec

from convqa.domain import TurnId
from convqa.errors import InputError, nearest
from convqa.metrics.ranking import ndcg, ranked, recall, reciprocal_rank
from convqa.plugins import load_all
from convqa.tasks.scores import Judged, Measure, Scores

GROUP = "convqa.measures"
"""The entry point group of further measures: name = module:function, a :data:`RankingMeasure`."""

RankingMeasure = Callable[[Collection[str], Sequence[str], int | None], float]
"""Scores a turn, given its relevant ids, the ranking (best first), and the cut-off (None: all)."""

_NAME = re.compile(r"(?P<family>[^@]+)(@(?P<cutoff>[1-9][0-9]*))?")

OWN: Mapping[str, RankingMeasure] = {"MRR": reciprocal_rank, "nDCG": ndcg, "R": recall}

Scorer = Callable[[Judged], Mapping[str, float]]
"""Returns the score of each turn."""


def find_measure(name: str) -> Scorer | None:
    """Return the measure of this name, such as ``R@100``; None if it is unknown."""
    match = _NAME.fullmatch(name)
    functions = {**load_all(GROUP), **OWN}
    if match is None or match["family"] not in functions:
        return _ir_measure(name)
    measure = functions[match["family"]]
    cutoff = int(match["cutoff"]) if match["cutoff"] else None

    def score(judged: Judged) -> Mapping[str, float]:
        return {
            turn: measure(relevant, ranked(judged.rankings.get(turn, {})), cutoff)
            for turn, relevant in judged.relevant.items()
        }

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

    def score(judged: Judged) -> Mapping[str, float]:
        truth = {turn: dict.fromkeys(relevant, 1) for turn, relevant in judged.relevant.items()}
        rankings = {}
        for turn, scores in judged.rankings.items():
            # Ranks in place of scores, so that ties are broken as in our own measures.
            rankings[turn] = {id: -float(rank) for rank, id in enumerate(ranked(scores))}
        values = dict.fromkeys(truth, 0.0)
        for metric in ir_measures.iter_calc([measure], truth, rankings):
            if metric.query_id in values:
                values[metric.query_id] = metric.value
        return values

    return score


def score_measures(
    names: Sequence[str],
    judged: Judged | None,
    turns: Mapping[str, TurnId],
    known: Collection[str],
) -> Iterator[Scores]:
    """Yield the scores of measures over the rankings of a run.

    :param judged: None if the task has no rankings. :param turns: the truth's turns by name.
    :param known: the task's own measures, for messages.
    :raises InputError: for an unknown name.
    """
    for name in names:
        scorer = find_measure(name)
        if scorer is None:
            more = "" if find_spec("ir_measures") else ", and with pip install ir-measures those of ir_measures"
            raise InputError(
                f"--measure {name}: unknown measure.{nearest(name, known)} "
                f"Known: {', '.join(known)}, and MRR, nDCG and R with a cut-off such as nDCG@10{more}."
            )
        if judged is None or not judged.relevant:
            yield Scores(Measure(name), skipped="no turn has a ranking and relevant passages")
            continue
        values = scorer(judged)
        yield Scores(Measure(name), tuple(turns[turn] for turn in values), tuple(values.values()))
