"""Score rankings by graded judgments, with the package ir_measures (which calls trec_eval's code)."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from convqa.errors import InputError
from convqa.tasks.scores import JudgedRankings, Scores, warn_of_unmatched
from convqa.tasks.trec.run import TrecRun
from convqa.tasks.trec.truth import Qrels

MEASURES = ("nDCG@3", "nDCG@10", "R@1000", "MAP", "Judged@10")


def judged(gold: Qrels, run: TrecRun) -> JudgedRankings:
    """Return the rankings and all grades. A judged turn without a ranking counts 0, as in ``trec_eval -c``."""
    rankings = {str(turn): scores for turn, scores in run.rankings.items()}
    return JudgedRankings(rankings, {str(turn.id): turn.grades for turn in gold.turns})


def score(gold: Qrels, run: TrecRun, options: Any) -> list[Scores]:  # noqa: ARG001
    """Check that the run can be scored. All measures are those of rankings (:data:`MEASURES`).

    :raises InputError: without ir_measures, and if no turn of the run was judged.
    """
    if find_spec("ir_measures") is None:
        raise InputError("scores by qrels need the extra: pip install 'convqa[experiments]'.")
    asked = {turn.id for turn in gold.turns}
    if asked.isdisjoint(run.rankings):
        known, got = (next(map(str, turns), "none") for turns in (asked, run.rankings))
        raise InputError(f"{gold.path}: judges no turn of {run.path}, whose turns are such as {got}, not {known}.")
    warn_of_unmatched(run.path, asked, run.rankings.keys(), "judged turns", "turns that were not judged")
    return []


def part(gold: Qrels, run: TrecRun) -> Qrels:
    """Restrict the judgments to the conversations of the run."""
    topics = {turn.conversation for turn in run.rankings}
    return replace(gold, turns=tuple(turn for turn in gold.turns if turn.id.conversation in topics))
