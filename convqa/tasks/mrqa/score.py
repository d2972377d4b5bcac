"""Score predictions exactly as the official script does (mrqa_official_eval.py), question by question.

There are differences: an ``InputError`` replaces the script's crashes, and the scores of several data sets, their macro
averages and SQuAD 2's scores of unanswerable questions are added.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from convqa.errors import InputError
from convqa.metrics import mrqa, squad
from convqa.tasks import scores
from convqa.tasks.mrqa.run import Run
from convqa.tasks.mrqa.sets import averages
from convqa.tasks.mrqa.truth import Gold, GoldTurn
from convqa.tasks.scores import Measure, Scores, option, warn_of_unmatched

_PERCENT = 100.0
_NO_ANSWERS = "no question has an answer that the official script could compare"


@dataclass(frozen=True, slots=True)
class MRQAOptions(scores.ScoreOptions):
    """The official script's options."""

    skip_no_answer: bool = option(False, "MRQA: skip questions without a prediction instead of scoring them 0.")

    def to_json(self) -> dict[str, Any]:
        return {"skip_no_answer": self.skip_no_answer}


Pairs = list[tuple[GoldTurn, str | None]]
"""Questions with their predictions; None if missing, which counts 0."""


class Row(NamedTuple):
    """A question with its scores, from 0 to 1."""

    turn: GoldTurn
    em: float
    f1: float


def score(gold: Gold, run: Run, options: MRQAOptions) -> list[Scores]:
    """Score EM and F1 (0 to 100) of each data set, with macro averages over several."""
    asked = {str(turn.id.conversation) for turn in gold.turns}
    unknown = "predictions for questions that are not in the truth"
    warn_of_unmatched(run.path, asked, run.answers.keys(), "questions", unknown)
    sets = dict.fromkeys(turn.dataset for turn in gold.turns)
    pairs = {name: _pairs(gold, name, run, options) for name in sets}
    rows = {name: _official(members) for name, members in pairs.items()}
    if len(pairs) == 1:
        (name,) = pairs
        measures = [Measure(measure, official=True, scale=_PERCENT) for measure in ("EM", "F1")]
        return [*_columns(rows[name], *measures), *_squad2(pairs[name], "")]
    columns: list[Scores] = []
    for name in pairs:
        columns += [*_side_by_side(rows[name], f"{name} ", official=True), *_squad2(pairs[name], f"{name} ")]
    for average, names in averages([name for name in sets if rows[name]]).items():
        columns += _side_by_side([row for name in names for row in rows[name]], f"{average} ", macro=True)
    return columns


def _pairs(gold: Gold, name: str, run: Run, options: MRQAOptions) -> Pairs:
    """Return the questions of a data set that count."""
    pairs = [(turn, run.answers.get(str(turn.id.conversation))) for turn in gold.turns if turn.dataset == name]
    if options.skip_no_answer:
        pairs = [pair for pair in pairs if pair[1] is not None]
    if not pairs:
        raise InputError(f"{run.path}: has no prediction for any question of {name}, so nothing is left to score.")
    return pairs


def _official(pairs: Pairs) -> list[Row]:
    measures = (mrqa.exact_match, mrqa.f1)
    return [
        Row(turn, *(0.0 if answer is None else measure(turn.answers, answer) for measure in measures))
        for turn, answer in pairs
        if turn.answers
    ]


def _squad2(pairs: Pairs, prefix: str) -> list[Scores]:
    """Score by SQuAD 2's rules if some questions are unanswerable: their correct answer is the empty one."""
    if all(turn.answers for turn, _ in pairs):
        return []
    rows = []
    for turn, answer in pairs:
        # An answer that is empty after normalisation does not count as an answer.
        truths = [truth for truth in turn.answers if squad.normalise(truth)] or [""]
        best = [0.0, 0.0]
        if answer is not None:
            best = [max(measure(truth, answer) for truth in truths) for measure in (squad.exact_match, squad.f1)]
        rows.append(Row(turn, *best))
    columns = _side_by_side(rows, prefix, suffix=" (SQuAD 2)")
    for kind in ("answerable", "unanswerable"):
        members = [row for row in rows if bool(row.turn.answers) == (kind == "answerable")]
        measures = [
            replace(columns[1].measure, name=f"{prefix}{name} (SQuAD 2, {kind})", label=f"{name} {kind}")
            for name in ("EM", "F1")
        ]
        columns += _columns(members, *measures) if members else []
    return columns


def _side_by_side(
    rows: list[Row], prefix: str, official: bool = False, macro: bool = False, suffix: str = ""
) -> list[Scores]:
    """Return F1 with a line of its own, and EM on the same line."""
    line = Measure(f"{prefix}F1{suffix}", official=official, scale=_PERCENT)
    em, f1 = _columns(rows, replace(line, name=f"{prefix}EM{suffix}", beside=line.name, label="EM"), line)
    groups = tuple(row.turn.dataset for row in rows) if macro else ()
    return [replace(f1, groups=groups), replace(em, groups=groups)]


def _columns(rows: Sequence[Row], em: Measure, f1: Measure) -> list[Scores]:
    if not rows:
        return [Scores(em, skipped=_NO_ANSWERS), Scores(f1, skipped=_NO_ANSWERS)]
    ids = tuple(row.turn.id for row in rows)
    return [Scores(em, ids, tuple(row.em for row in rows)), Scores(f1, ids, tuple(row.f1 for row in rows))]


def official_text(means: Mapping[str, float]) -> str:
    """Format the line of the official script; for several data sets, with keys as in the published result files.

    >>> official_text({"EM": 50.0, "F1": 62.5})
    '{"exact_match": 50.0, "f1": 62.5}\\n'
    >>> official_text({"SQuAD F1": 62.5, "SQuAD EM": 50.0})
    '{"SQuAD_em": 50.0, "SQuAD_f1": 62.5}\\n'
    """
    names = {"EM": "exact_match", "F1": "f1"}
    line = {names.get(name) or "_".join((name[:-3], name[-2:].lower())): mean for name, mean in means.items()}
    return json.dumps(dict(sorted(line.items())), ensure_ascii=False) + "\n"
