"""Score predictions as the official scripts do: vzhong/e3's evaluator.py, and MUDERN's for the open-retrieval form.

There are differences: where a script crashes, there is an ``InputError``, or a measure without a value and its reason.
Retrieval and Combined are added.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace

from convqa.errors import InputError
from convqa.files import log
from convqa.metrics.ranking import recall, reciprocal_rank
from convqa.sharc.bleu import ORDER
from convqa.sharc.run import DEPTH, ShARCRun
from convqa.sharc.schema import CLASSES, normalize
from convqa.sharc.table import BOTH, PREDICTED, TRUE, Figure, Sums, Table
from convqa.sharc.truth import ShARCGold
from convqa.tasks.scores import (
    JudgedRankings,
    Measure,
    Scores,
    columns,
    warn_of_unmatched,
)

MISSING = "missing"
"""The scripts' answer to an utterance that is missing in the run: of the class of follow-up questions."""

_NO_PAIR = "truth and run ask in no common turn: the official script divides by zero"
_MRR = f"MRR@{DEPTH}"


def score(gold: ShARCGold, run: ShARCRun, *_: object) -> list[Scores]:
    """Score accuracies and BLEU, and in the open-retrieval form the rankings, if the run has some.

    :raises InputError: if all follow-up questions for BLEU are empty, where the scripts crash.
    """
    asked = dict.fromkeys(str(turn.id.conversation) for turn in gold.turns)
    missing, unknown = (
        "utterances: each counts as a question",
        "answers to utterances that are not in the truth",
    )
    warn_of_unmatched(run.path, asked.keys(), run.answers.keys(), missing, unknown)
    answers = [normalize(run.answers.get(id, MISSING), gold.form) for id in asked]
    if gold.form == "open" and (count := sum(answer.text == "irrelevant" for answer in answers)):
        log.warning(
            "%s: %d answers are Irrelevant, a question in the open-retrieval form",
            run.path,
            count,
        )
    table = Table.of(gold, answers)
    if table.used(table.sums) and not table.words(table.sums):
        raise InputError(
            f"{run.path}: all {table.used(table.sums):.0f} answers that BLEU is computed from, of {len(answers)}, are "
            "empty, and the official script divides by zero; expected a label or a question as answer."
        )
    return [*_official(table)] if gold.form == "official" else [*_open(table), *_retrieval(gold, run)]


def judged(gold: ShARCGold, run: ShARCRun) -> JudgedRankings | None:
    """Return the rankings in the run, with the relevant rule texts; None for a run without rankings."""
    rankings = {}
    relevant = {}
    for turn in gold.turns:
        if turn.snippet_id:
            ids = run.passages.get(str(turn.id.conversation), ())
            rankings[str(turn.id)] = {id: 1 / rank for rank, id in enumerate(ids, 1)}
            relevant[str(turn.id)] = (turn.snippet_id,)
    return JudgedRankings(rankings, relevant) if run.passages and relevant else None


def _official(table: Table) -> Iterator[Scores]:
    yield table.share(Measure("Micro accuracy", official=True))
    yield from _macro(table, Measure("Macro accuracy", official=True))
    for order in range(1, ORDER + 1):
        measure = Measure(f"BLEU-{order}", official=True)
        yield table.figure(measure, _bleu(order, BOTH), _NO_PAIR)
        if order == 1:
            count = Measure(
                "BLEU pairs",
                line="BLEU-1",
                label="turns where both ask",
                counts=True,
            )
            yield table.figure(count, Table.used, "")
    yield table.figure(
        Measure("Combined"),
        _combined,
        "there is no macro accuracy",
        by_class=True,
    )


def _open(table: Table) -> Iterator[Scores]:
    micro = table.share(Measure("Micro accuracy %", official=True, scale=100.0))
    yield micro
    yield from table.apart(micro)
    yield from _macro(table, Measure("Macro accuracy %", official=True, scale=100.0))
    for order in (1, ORDER, *range(2, ORDER)):
        line = f"F1_BLEU-{order}"
        whole = table.figure(Measure(line, official=True), _f1(order), _NO_PAIR)
        yield whole
        if whole.skipped:
            continue
        for name, part in (("P", PREDICTED), ("R", TRUE)):
            measure = Measure(
                f"{name}_BLEU-{order}",
                official=True,
                line=line,
                label=name,
                scale=100.0,
            )
            yield table.figure(measure, _bleu(order, part), _NO_PAIR)
        if order in {1, ORDER}:
            yield from table.apart(whole)


def _macro(table: Table, measure: Measure) -> Iterator[Scores]:
    """Yield macro accuracy, skipped if a class is not in the truth, with the recall of each class on the same line."""
    missing = [name for name in CLASSES[table.form] if name not in table.labels]
    reason = f"the truth has no answer of class {', '.join(missing)}"
    whole = table.figure(measure, Table.macro, reason, by_class=True)
    yield whole
    unit = measure.name.removeprefix("Macro accuracy")
    for label in CLASSES[table.form]:
        if label not in missing:
            name = f"Recall {label}{unit}"
            part = replace(
                measure,
                name=name,
                official=name in NAMES,
                line=measure.name,
                label=label,
            )
            yield table.recall(part, label)
    yield from table.apart(whole)


def _bleu(order: int, part: int) -> Figure:
    return lambda table, sums: table.bleu(sums, order, part)


def _f1(order: int) -> Figure:
    """Return the figure in percent, computed from precision and recall with two digits, as in the script."""

    def f1(table: Table, sums: Sums) -> float | None:
        precision = table.bleu(sums, order, PREDICTED)
        recall = table.bleu(sums, order, TRUE)
        if precision is None or recall is None:
            return None
        precision = round(100 * precision, 2)
        recall = round(100 * recall, 2)
        if not precision + recall:
            return 0.0
        return round(2 * precision * recall / (precision + recall), 2)

    return f1


def _combined(table: Table, sums: Sums) -> float | None:
    macro = table.macro(sums)
    last = table.bleu(sums, ORDER)
    return None if macro is None or last is None else macro * last


def _retrieval(gold: ShARCGold, run: ShARCRun) -> list[Scores]:
    """Score the rank of the relevant rule text, our own measure. An utterance missing in the run counts 0."""
    depths = {f"R@{k}": k for k in (1, 5, DEPTH)}
    measures = (
        Measure(_MRR),
        *(Measure(name, line=_MRR, label=name) for name in depths),
    )
    if not run.passages:
        return columns(measures, "the run has no passages")
    rows = []
    for turn in gold.turns:
        if turn.snippet_id:
            relevant = {turn.snippet_id}
            ranking = run.passages.get(str(turn.id.conversation), ())
            row = {name: recall(relevant, ranking, k) for name, k in depths.items()}
            row[_MRR] = reciprocal_rank(relevant, ranking)
            rows.append((turn.id, row))
    return columns(measures, rows or "the truth has no gold_snippet_id")


_ORDERS = range(1, ORDER + 1)
NAMES = {
    "Micro accuracy": ("micro_accuracy", 4),
    "Macro accuracy": ("macro_accuracy", 4),
    **{f"BLEU-{n}": (f"bleu_{n}", 4) for n in _ORDERS},
    "Micro accuracy %": ("micro_accuracy", 2),
    "Macro accuracy %": ("macro_accuracy", 2),
    **{f"Recall {name} %": (f"classwise_accuracy_{name}", 2) for name in CLASSES["open"]},
    **{f"P_BLEU-{n}": (f"precision_bleu_{n}", 2) for n in _ORDERS},
    **{f"R_BLEU-{n}": (f"recall_bleu_{n}", 2) for n in _ORDERS},
    **{f"F1_BLEU-{n}": (f"fscore_bleu_{n}", 2) for n in _ORDERS},
}
"""Measure -> (the script's key, its number of digits). Names with % are of the open-retrieval form."""


def official_text(means: Mapping[str, float]) -> str:
    """Format one line, with keys in the scripts' order.

    >>> official_text({"Macro accuracy": 0.75, "Micro accuracy": 1 / 3})
    '{"micro_accuracy": 0.3333, "macro_accuracy": 0.75}\\n'
    """
    line = {key: round(means[name], digits) for name, (key, digits) in NAMES.items() if name in means}
    return json.dumps(line) + "\n"
