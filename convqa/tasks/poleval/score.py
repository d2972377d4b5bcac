"""Score rankings exactly as GEval does with ``--metric NDCG@10``, overall and by set."""

from __future__ import annotations

from dataclasses import replace

from convqa.errors import InputError
from convqa.metrics.ranking import geval_ndcg
from convqa.tasks.poleval.run import DEPTH, PolEvalRun
from convqa.tasks.poleval.truth import PolEvalGold
from convqa.tasks.scores import JudgedRankings, Measure, Scores

MEASURE = f"NDCG@{DEPTH}"


def score(
    gold: PolEvalGold,
    run: PolEvalRun,
    *_: object,
) -> list[Scores]:
    """Score NDCG@10 over all lines and, with several sets, of each set, and their mean.

    Like GEval, refuses a run without a line for each question.
    """
    lines = len(run.rankings)
    if lines != gold.lines:
        advice = " --partial scores only the first questions." if lines < gold.lines else ""
        raise InputError(f"{run.path}: expected {gold.lines} lines as in {gold.path}, got {lines}.{advice}")
    ids = tuple(turn.id for turn in gold.turns)
    values = tuple(geval_ndcg(turn.relevant, run.rankings[turn.line], DEPTH) for turn in gold.turns)
    whole = Scores(Measure(MEASURE, official=True), ids, values)
    sets = tuple(turn.set for turn in gold.turns)
    mean = replace(whole, measure=Measure(f"mean over sets {MEASURE}"), groups=sets)
    members = mean.by_group(range(len(sets)))
    if len(members) == 1:
        return [whole]
    by_set = [replace(whole.at(indexes), measure=Measure(f"{name} {MEASURE}")) for name, indexes in members.items()]
    return [whole, *by_set, mean]


def part(gold: PolEvalGold, run: PolEvalRun) -> PolEvalGold:
    """Restrict the truth to the first questions, as many as the run has lines."""
    lines = min(gold.lines, len(run.rankings))
    return replace(
        gold,
        turns=tuple(turn for turn in gold.turns if turn.line < lines),
        lines=lines,
    )


def judged(gold: PolEvalGold, run: PolEvalRun) -> JudgedRankings:
    """Return the scored rankings. An empty id takes a rank, but is left out, since TREC files cannot contain it."""
    rankings = {}
    relevant = {}
    for turn in gold.turns:
        ranked = list(dict.fromkeys(run.rankings[turn.line]))[:DEPTH]
        rankings[str(turn.id)] = {id: float(DEPTH - rank) for rank, id in enumerate(ranked) if id}
        relevant[str(turn.id)] = [id for id in dict.fromkeys(turn.relevant) if id]
    return JudgedRankings(rankings, relevant)
