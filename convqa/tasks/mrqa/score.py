"""Score predictions exactly as the official script does (mrqa_official_eval.py), question by question.

There are differences: an ``InputError`` replaces the script's crashes, and the scores of several data sets, their macro
averages and SQuAD 2's scores of unanswerable questions are added.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from convqa.errors import InputError
from convqa.metrics.squad import best_exact_match, best_f1, exact_match, f1, normalize
from convqa.tasks.mrqa.run import MRQARun
from convqa.tasks.mrqa.sets import averages
from convqa.tasks.mrqa.truth import MRQAGold, MRQATruth
from convqa.tasks.scores import (
    Measure,
    Rows,
    ScoreOptions,
    Scores,
    columns,
    option,
    warn_of_unmatched,
)

_SCRIPT_KEYS = {"EM": "exact_match", "F1": "f1"}
_PERCENT = 100.0
_NO_ANSWERS = "no question has an answer that the official script could compare"


@dataclass(frozen=True, slots=True)
class MRQAOptions(ScoreOptions):
    """The official script's options."""

    skip_no_answer: bool = option(
        False,
        "MRQA: skip questions without a prediction instead of scoring them 0.",
    )

    def to_json(self) -> dict[str, Any]:
        return {"skip_no_answer": self.skip_no_answer}


Pairs = list[tuple[MRQATruth, str | None]]
"""Questions with their predictions; None if missing, which counts 0."""


def score(
    gold: MRQAGold,
    run: MRQARun,
    options: MRQAOptions,
) -> list[Scores]:
    """Score EM and F1 (0 to 100) of each data set, with macro averages over several."""
    asked = {str(turn.id.conversation) for turn in gold.turns}
    unknown = "predictions for questions that are not in the truth"
    warn_of_unmatched(run.path, asked, run.answers.keys(), "questions", unknown)
    pairs = _pairs(gold, run, options)
    results: list[Scores] = []
    for name, members in pairs.items():
        prefix = f"{name} " if len(pairs) > 1 else ""
        results += columns(_side_by_side(prefix, official=True), _official(members, prefix) or _NO_ANSWERS)
        results += _squad2(members, prefix)
    answered = [name for name, members in pairs.items() if any(turn.answers for turn, _ in members)]
    for average, names in averages(answered).items():
        members = [pair for name in names for pair in pairs[name]]
        groups = tuple(turn.dataset for turn, _ in members if turn.answers)
        averaged = columns(_side_by_side(f"{average} "), _official(members, f"{average} "))
        results += [replace(column, groups=groups) for column in averaged]
    return results


def _pairs(
    gold: MRQAGold,
    run: MRQARun,
    options: MRQAOptions,
) -> dict[str, Pairs]:
    """Return the questions of each data set that count."""
    pairs: dict[str, Pairs] = {}
    for turn in gold.turns:
        members = pairs.setdefault(turn.dataset, [])
        answer = run.answers.get(str(turn.id.conversation))
        if answer is not None or not options.skip_no_answer:
            members.append((turn, answer))
    for name, members in pairs.items():
        if not members:
            raise InputError(f"{run.path}: has no prediction for any question of {name}, so nothing is left to score.")
    return pairs


def _official(pairs: Pairs, prefix: str) -> Rows:
    rows = []
    for turn, answer in pairs:
        if turn.answers:
            row = {f"{prefix}EM": 0.0, f"{prefix}F1": 0.0}
            if answer is not None:
                row[f"{prefix}EM"] = best_exact_match(turn.answers, answer)
                row[f"{prefix}F1"] = best_f1(turn.answers, answer)
            rows.append((turn.id, row))
    return rows


def _squad2(pairs: Pairs, prefix: str) -> list[Scores]:
    """Score by SQuAD 2's rules if some questions are unanswerable: their correct answer is the empty one."""
    if all(turn.answers for turn, _ in pairs):
        return []
    rows = []
    for turn, answer in pairs:
        # An answer that is empty after normalization does not count as an answer.
        truths = [truth for truth in turn.answers if normalize(truth)] or [""]
        row: dict[str, float] = {}
        for name, measure in (("EM", exact_match), ("F1", f1)):
            best = 0.0 if answer is None else max(measure(truth, answer) for truth in truths)
            row[f"{prefix}{name} (SQuAD 2)"] = best
        rows.append((turn.id, row))
    return columns(_side_by_side(prefix, " (SQuAD 2)"), rows)


def _side_by_side(
    prefix: str,
    suffix: str = "",
    official: bool = False,
) -> tuple[Measure, Measure]:
    """Return F1 with a line of its own, and EM on the same line."""
    line = Measure(f"{prefix}F1{suffix}", official=official, scale=_PERCENT)
    return line, replace(line, name=f"{prefix}EM{suffix}", line=line.name, label="EM")


def official_text(means: Mapping[str, float]) -> str:
    """Format the line of the official script; for several data sets, with keys as in the published result files.

    >>> official_text({"EM": 50.0, "F1": 62.5})
    '{"exact_match": 50.0, "f1": 62.5}\\n'
    >>> official_text({"SQuAD F1": 62.5, "SQuAD EM": 50.0})
    '{"SQuAD_em": 50.0, "SQuAD_f1": 62.5}\\n'
    """
    line = {}
    for name, mean in means.items():
        data_set, _, measure = name.rpartition(" ")
        key = f"{data_set}_{measure.lower()}" if data_set else _SCRIPT_KEYS[measure]
        line[key] = mean
    return json.dumps(line, sort_keys=True, ensure_ascii=False) + "\n"
