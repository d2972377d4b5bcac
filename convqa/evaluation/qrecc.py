"""Score a QReCC run exactly as the official script does (version 2021-10-04), turn by turn.

Differences, both deliberate: QR and ROUGE1-R are plain means (the script takes the median of 1,000 unseeded bootstrap
means: the third decimal may differ by one), and malformed files are an ``InputError``, not a traceback.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from convqa.domain import TurnId
from convqa.evaluation.breakdown import groups
from convqa.evaluation.result import Evaluation, Scores, Summary
from convqa.files import log
from convqa.metrics.ndcg import ndcg
from convqa.metrics.ranked import ranked
from convqa.metrics.recall import recall
from convqa.metrics.reciprocal_rank import reciprocal_rank
from convqa.metrics.rouge1 import rouge1, tokens
from convqa.metrics.squad import exact_match, f1
from convqa.tasks import qrecc
from convqa.tasks.qrecc import Gold, GoldTurn, Run

REWRITING = ("QR",)
RETRIEVAL = ("MRR",)
ANSWERING = ("EM", "F1", "ROUGE1-R")
_OFF = "not asked for"


@dataclass(frozen=True, slots=True)
class AnswerScorer:
    """A further measure of answers, such as SAS: ``score`` takes (truth, model answer) pairs."""

    name: str
    score: Callable[[Sequence[tuple[str, str]]], Sequence[float]]


Rows = list[tuple[TurnId, dict[str, float]]]


def evaluate(
    truth_path: Path,
    run_path: Path,
    *,
    eval_missing_truth: bool = False,
    eval_turn_one_rewrites: bool = False,
    no_rewriting: bool = False,
    no_retrieval: bool = False,
    no_answering: bool = False,
    breakdown: Sequence[str] = (),
    seed: int = 1,
    scorers: Sequence[AnswerScorer] = (),
) -> Evaluation:
    """Evaluate a run (directory or run.json) against the truth (directory or ground-truth.json).

    :param eval_missing_truth: also count turns whose truth is missing, as the QReCC paper does.
    :param eval_turn_one_rewrites: also count the rewrites of turns with Turn_no 1.
    :param breakdown: ``history`` (empty or not), or fields of the truth's records.
    :param seed: of the bootstrap intervals.
    :raises InputError: for files that the official script would stop or crash at, and for unknown breakdowns.
    """
    task = qrecc.QReCC()
    gold, run = task.gold(truth_path), task.read_run(run_path)
    _warn_of_turns(gold, run)
    members = groups(gold, truth_path, breakdown)
    parts: dict[tuple[str, ...], Rows | str] = {
        REWRITING: _OFF if no_rewriting else _rewriting(gold, run, eval_missing_truth, eval_turn_one_rewrites),
        RETRIEVAL: _OFF if no_retrieval else _retrieval(gold, run, eval_missing_truth),
        (*ANSWERING, *(scorer.name for scorer in scorers)): (
            _OFF if no_answering else _answering(gold, run, eval_missing_truth, scorers)
        ),
    }
    scores: dict[str, Scores] = {}
    for rows in parts.values():
        scores |= {} if isinstance(rows, str) else _columns(rows)
    return Evaluation(
        gold,
        run,
        tuple(name for names in parts for name in names),
        scores,
        _summaries(scores, seed),
        {name: rows for names, rows in parts.items() if isinstance(rows, str) for name in names},
        {
            name: {group: _summaries(_only(scores, ids), seed) for group, ids in by_group.items()}
            for name, by_group in members.items()
        },
        {
            "eval_missing_truth": eval_missing_truth,
            "eval_turn_one_rewrites": eval_turn_one_rewrites,
            "seed": seed,
        },
    )


def _rewriting(gold: Gold, run: Run, missing_truth: bool, turn_one: bool) -> Rows | str:
    """QR, or why there is none. A turn without a rewrite counts as an empty one."""
    if not run.rewrites:
        return "the run has no rewrites"
    used = [turn for turn in gold.turns if (turn_one or turn.id.number > 1) and (missing_truth or turn.rewrite)]
    rows = []
    for turn in used:
        model = run.rewrites.get(str(turn.id), "")
        rouge = rouge1(turn.rewrite, model)
        words, truth_words = float(len(tokens(model))), float(len(tokens(turn.rewrite)))
        row = {"QR": rouge.recall, "QR-P": rouge.precision, "QR-F1": rouge.f1}
        rows.append((turn.id, {**row, "QR-words": words, "QR-truth-words": truth_words}))
    return rows or "the truth has no rewrites of turns after the first"


def _retrieval(gold: Gold, run: Run, missing_truth: bool) -> Rows | str:
    """MRR and its kin over the turns that are in both files, or why there is none."""
    if not run.passages:
        return "the run has no passages"
    judged = _collapsed([turn for turn in gold.turns if missing_truth or turn.passages])
    if not judged:
        return "the truth has no passages"
    rows = [
        (turn.id, _ranking_scores(frozenset(turn.passages), run.passages[str(turn.id)]))
        for turn in judged
        if str(turn.id) in run.passages
    ]
    if not rows:
        return "no turn with true passages has Model_passages"
    if len(rows) < len(judged):
        log.warning("%s: MRR leaves out %d turns that lack Model_passages", run.path, len(judged) - len(rows))
    return rows


def _ranking_scores(relevant: frozenset[str], scores: Mapping[str, float]) -> dict[str, float]:
    ranking = ranked(scores)
    return {
        "MRR": reciprocal_rank(relevant, ranking),
        "MRR@10": reciprocal_rank(relevant, ranking, 10),
        "nDCG@3": ndcg(relevant, ranking, 3),
        "nDCG@10": ndcg(relevant, ranking, 10),
        "R@10": recall(relevant, ranking, 10),
        "R@100": recall(relevant, ranking, 100),
    }


def _answering(gold: Gold, run: Run, missing_truth: bool, scorers: Sequence[AnswerScorer]) -> Rows | str:
    """EM, F1 and ROUGE-1, or why there is none. A turn without an answer counts as an empty one."""
    if not run.answers:
        return "the run has no answers"
    used = [turn for turn in gold.turns if missing_truth or turn.answer]
    if not used:
        return "the truth has no answers"
    if not any(str(turn.id) in run.answers for turn in used):
        return "no turn with a true answer has Model_answer"
    pairs = [(turn.answer, run.answers.get(str(turn.id), "")) for turn in used]
    further = {scorer.name: list(scorer.score(pairs)) for scorer in scorers}
    once = {id(turn) for turn in _collapsed(used)}
    rows = []
    for index, (turn, pair) in enumerate(zip(used, pairs, strict=True)):
        row = {"EM": exact_match(*pair), "F1": f1(*pair)} if id(turn) in once else {}
        rouge = rouge1(*pair)
        row |= {"ROUGE1-R": rouge.recall, "ROUGE1-P": rouge.precision, "ROUGE1-F1": rouge.f1}
        row |= {"answer-words": float(len(tokens(pair[1]))), "truth-words": float(len(tokens(pair[0])))}
        rows.append((turn.id, row | {name: values[index] for name, values in further.items()}))
    return rows


def _collapsed(turns: Sequence[GoldTurn]) -> list[GoldTurn]:
    """Of turns that are twice in the truth the last: EM, F1 and MRR are kept by turn, QR and ROUGE1-R are not."""
    return list({turn.id: turn for turn in turns}.values())


def _columns(rows: Rows) -> dict[str, Scores]:
    names = dict.fromkeys(name for _, row in rows for name in row)
    columns = {name: [(id, row[name]) for id, row in rows if name in row] for name in names}
    return {
        name: Scores(tuple(id for id, _ in column), tuple(value for _, value in column))
        for name, column in columns.items()
    }


def _only(scores: Mapping[str, Scores], ids: frozenset[TurnId]) -> dict[str, Scores]:
    return {name: column.of(ids) for name, column in scores.items()}


def _summaries(scores: Mapping[str, Scores], seed: int) -> dict[str, Summary]:
    return {name: Summary.of(column, seed) for name, column in scores.items() if column.values}


def _warn_of_turns(gold: Gold, run: Run) -> None:
    """Partial runs are punished and foreign turns ignored: say so, since it is mostly a mistake."""
    truth, answered = {str(turn.id) for turn in gold.turns}, {str(turn) for turn in run.turns}
    if len(truth - answered):
        log.warning("%s: lacks %d of the %d turns of the truth", run.path, len(truth - answered), len(truth))
    if len(answered - truth):
        log.warning("%s: ignored %d turns that are not in the truth", run.path, len(answered - truth))
