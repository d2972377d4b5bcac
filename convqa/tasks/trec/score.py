"""Score rankings by graded judgments, with the package ir_measures (which calls trec_eval's code)."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from convqa.errors import InputError
from convqa.metrics.ranking import ranked
from convqa.tasks.scores import JudgedRankings, Measure, Scores, warn_of_unmatched
from convqa.tasks.trec.run import TrecRun
from convqa.tasks.trec.truth import Qrels, turn_id

MEASURES = ("nDCG@3", "nDCG@10", "R@1000", "MAP", "Judged@10")


def judged(gold: Qrels, run: TrecRun) -> JudgedRankings:
    """Return the rankings and the grades of all judged turns."""
    rankings = {str(turn.id): run.rankings.get(turn.query, {}) for turn in gold.turns}
    return JudgedRankings(rankings, {str(turn.id): turn.grades for turn in gold.turns})


def score(gold: Qrels, run: TrecRun, options: Any) -> list[Scores]:  # noqa: ARG001
    """Score every judged turn. One without a ranking counts 0, as in ``trec_eval -c``.

    :raises InputError: without ir_measures, and if no turn of the run was judged.
    """
    if find_spec("ir_measures") is None:
        raise InputError("scores by qrels need the extra: pip install 'convqa[experiments]'.")
    from ir_measures import iter_calc, parse_measure

    queries = {turn.query for turn in gold.turns}
    if queries.isdisjoint(run.rankings):
        known, got = (next(iter(names), "none") for names in (queries, run.rankings))
        raise InputError(f"{gold.path}: judges no turn of {run.path}, whose turns are such as {got}, not {known}.")
    warn_of_unmatched(run.path, queries, run.rankings.keys(), "judged turns", "turns that were not judged")
    both = judged(gold, run)
    # Ranks in place of scores, so that ties are broken as in our own measures. Judged@10 fails at an empty ranking.
    ranks = {}
    for turn, scores in both.rankings.items():
        if scores:
            ranks[turn] = {id: -float(rank) for rank, id in enumerate(ranked(scores))}
    names = {parse_measure(name): name for name in MEASURES}
    values = {(one.measure, one.query_id): one.value for one in iter_calc(list(names), both.relevant, ranks)}
    ids = tuple(turn.id for turn in gold.turns)
    columns = []
    for measure, name in names.items():
        by_turn = tuple(float(values.get((measure, str(id)), 0.0)) for id in ids)
        columns.append(Scores(Measure(name, official=True), ids, by_turn))
    return columns


def part(gold: Qrels, run: TrecRun) -> Qrels:
    """Restrict the judgments to the conversations of the run."""
    topics = {turn_id(query).conversation for query in run.rankings}
    return replace(gold, turns=tuple(turn for turn in gold.turns if turn.id.conversation in topics))
