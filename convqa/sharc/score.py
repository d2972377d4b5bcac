"""Score predictions as the official scripts do: vzhong/e3's evaluator.py, and MUDERN's for the open-retrieval form.

There are differences: where a script crashes, there is an ``InputError``, or a measure without a value and its reason.
Retrieval and Combined are added.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import mul
from typing import TYPE_CHECKING, TypeAlias

from convqa.domain import TurnId
from convqa.errors import InputError
from convqa.files import log
from convqa.sharc.bleu import COLUMNS, ORDER, bleu, bleu_counts
from convqa.sharc.run import DEPTH, ShARCRun
from convqa.sharc.schema import CLASSES, Form, NormalizedAnswer, normalize
from convqa.sharc.truth import ShARCGold
from convqa.tasks.scores import JudgedRankings, Measure, Scores, ScoresByGroup, warn_of_unmatched

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

Sample: TypeAlias = "NDArray[numpy.intp]"
Figure: TypeAlias = "Callable[[Sample], float | None]"
"""A corpus-level figure of a sample of turns, given by their indexes; None if it is undefined."""

MISSING = "missing"
"""The scripts' answer to an utterance that is missing in the run: of the class of follow-up questions."""

_NO_PAIR = "truth and run ask in no common turn: the official script divides by zero"
_MRR = f"MRR@{DEPTH}"


def score(gold: ShARCGold, run: ShARCRun, *_: object) -> list[Scores]:
    """Score accuracies and BLEU, and in the open-retrieval form the rankings, if the run has some.

    :raises InputError: if all follow-up questions for BLEU are empty, where the scripts crash.
    """
    ids = tuple(turn.id for turn in gold.turns)
    asked = dict.fromkeys(str(id.conversation) for id in ids)
    missing, unknown = (
        "utterances: each counts as a question",
        "answers to utterances that are not in the truth",
    )
    warn_of_unmatched(run.path, asked.keys(), run.answers.keys(), missing, unknown)
    truths = [normalize(turn.answer, gold.form) for turn in gold.turns]
    answers = [normalize(run.answers.get(id, MISSING), gold.form) for id in asked]
    is_open = gold.form == "open"
    if is_open and (count := sum(answer.text == "irrelevant" for answer in answers)):
        log.warning(
            "%s: answers that are Irrelevant, which is a question in the open-retrieval form: %d",
            run.path,
            count,
        )
    comparison = _Comparison(gold.form, ids, truths, answers)
    pairs = zip(truths, answers, strict=True)
    questions = [answer.words for truth, answer in pairs if answer.asks and (truth.asks or is_open)]
    if questions and not any(questions):
        raise InputError(
            f"{run.path}: all {len(questions)} answers that BLEU is computed from, of {len(answers)}, are empty, and "
            "the official script divides by zero; expected a label or a question as answer."
        )
    if is_open:
        return [*_open(comparison), *_retrieval(gold, run)]
    return list(_official(comparison))


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


@dataclass(frozen=True, slots=True)
class _Comparison:
    """The true answers to all turns, and the run's."""

    form: Form
    ids: tuple[TurnId, ...]
    truths: Sequence[NormalizedAnswer]
    answers: Sequence[NormalizedAnswer]

    @property
    def labels(self) -> tuple[str, ...]:
        """The true classes."""
        return tuple(truth.label for truth in self.truths)

    def micro(self, measure: Measure) -> Scores:
        """Return the share of answers of the true class."""
        pairs = zip(self.truths, self.answers, strict=True)
        right = [float(truth.label == answer.label) for truth, answer in pairs]
        return Scores(measure, self.ids, tuple(right))

    def macro(self) -> Figure:
        """Return the mean of the classes' shares; None if a class is not in the truth (NaN in the script)."""
        import numpy

        labels = numpy.array(self.labels)
        gold = numpy.column_stack([labels == name for name in CLASSES[self.form]])
        right = numpy.array(self.micro(Measure("")).values)

        def figure(sample: Sample) -> float | None:
            counts = gold[sample].sum(axis=0)
            if not counts.all():
                return None
            recalls = right[sample] @ gold[sample] / counts
            return float(recalls.mean())

        return figure

    def bleu(
        self,
        order: int,
        run_asks: bool = True,
        truth_asks: bool = True,
    ) -> Figure:
        """Return BLEU of the turns in which the run, the truth or both ask; 0 without such turns, as in the scripts.

        A label in place of a question is an empty text.
        """
        import numpy

        rows = []
        for truth, answer in zip(self.truths, self.answers, strict=True):
            reference = truth.words if truth.asks else ()
            hypothesis = answer.words if answer.asks else ()
            counts = bleu_counts(reference, hypothesis)
            is_used = (answer.asks or not run_asks) and (truth.asks or not truth_asks)
            rows.append([1, *counts] if is_used else [0] * (1 + COLUMNS))
        table = numpy.array(rows)

        def figure(sample: Sample) -> float | None:
            turns, *counts = table[sample].sum(axis=0).tolist()
            return bleu(counts, order) if turns else 0.0

        return figure

    def scores(
        self,
        measure: Measure,
        figure: Figure,
        why_not: str,
        by_class: bool = False,
    ) -> Scores:
        """Return a figure of all turns, or why there is none. Its "values" are the indexes of the turns.

        :param by_class: draw samples within each class, so that none lacks one.
        """
        import numpy

        indexes = range(len(self.ids))
        if figure(numpy.array(indexes)) is None:
            return Scores(measure, skipped=why_not)

        def of_sample(groups: ScoresByGroup) -> float | None:
            sample = numpy.concatenate(list(groups.values()))
            return figure(sample.astype(numpy.intp))

        return Scores(
            measure,
            self.ids,
            tuple(map(float, indexes)),
            groups=self.labels if by_class else ("all",) * len(self.ids),
            statistic=of_sample,
        )


def _official(comparison: _Comparison) -> Iterator[Scores]:
    yield comparison.micro(Measure("Micro accuracy", official=True))
    yield from _macro(comparison, Measure("Macro accuracy", official=True))
    for order in range(1, ORDER + 1):
        measure = Measure(f"BLEU-{order}", official=True)
        yield comparison.scores(measure, comparison.bleu(order), _NO_PAIR)
    combined = _combined(comparison.macro(), comparison.bleu(ORDER), mul)
    yield comparison.scores(
        Measure("Combined"),
        combined,
        "there is no macro accuracy",
        by_class=True,
    )


def _open(comparison: _Comparison) -> Iterator[Scores]:
    yield comparison.micro(Measure("Micro accuracy %", official=True, scale=100.0))
    yield from _macro(comparison, Measure("Macro accuracy %", official=True, scale=100.0))
    for order in _ORDERS:
        line = f"F1_BLEU-{order}"
        precision = comparison.bleu(order, truth_asks=False)
        recall = comparison.bleu(order, run_asks=False)
        f1 = _combined(precision, recall, _f1)
        whole = comparison.scores(Measure(line, official=True), f1, _NO_PAIR)
        yield whole
        if whole.skipped:
            continue
        for name, figure in (("P", precision), ("R", recall)):
            measure = Measure(
                f"{name}_BLEU-{order}",
                official=True,
                line=line,
                label=name,
                scale=100.0,
            )
            yield comparison.scores(measure, figure, _NO_PAIR)


def _macro(comparison: _Comparison, measure: Measure) -> Iterator[Scores]:
    """Yield macro accuracy, skipped if a class is not in the truth, with the recall of each class on the same line."""
    shares = replace(comparison.micro(measure), groups=comparison.labels)
    members = shares.by_group(range(len(shares.values)))
    missing = [name for name in CLASSES[comparison.form] if name not in members]
    reason = f"the truth has no answer of class {', '.join(missing)}"
    yield comparison.scores(measure, comparison.macro(), reason, by_class=True)
    unit = measure.name.removeprefix("Macro accuracy")
    for label in CLASSES[comparison.form]:
        if label in members:
            name = f"Recall {label}{unit}"
            part = replace(
                measure,
                name=name,
                official=name in NAMES,
                line=measure.name,
                label=label,
            )
            yield replace(shares.at(members[label]), measure=part)


def _combined(
    first: Figure,
    second: Figure,
    combine: Callable[[float, float], float],
) -> Figure:
    def figure(sample: Sample) -> float | None:
        one = first(sample)
        other = second(sample)
        return None if one is None or other is None else combine(one, other)

    return figure


def _f1(precision: float, recall: float) -> float:
    """Return the F1 in percent, computed from precision and recall in percent with two digits, as in the script."""
    precision = round(100 * precision, 2)
    recall = round(100 * recall, 2)
    if not precision + recall:
        return 0.0
    return round(2 * precision * recall / (precision + recall), 2)


def _retrieval(gold: ShARCGold, run: ShARCRun) -> Iterator[Scores]:
    """Score the rank of the relevant rule text, our own measure. An utterance missing in the run counts 0."""
    # Loads numpy, which the commands' help does not need.
    from convqa.evaluation.measures import score_measures

    names = [_MRR, *(f"R@{k}" for k in (1, 5, DEPTH))]
    for column in score_measures(names, judged(gold, run), gold, names):
        name = column.measure.name
        if name == _MRR:
            yield column
        elif not column.skipped:
            yield replace(column, measure=Measure(name, line=_MRR, label=name))


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
    line = {}
    for name, (key, digits) in NAMES.items():
        if name in means:
            line[key] = round(means[name], digits)
    return json.dumps(line) + "\n"
