"""Score predictions as the official scripts do: vzhong/e3's evaluator.py, and MUDERN's for the open-retrieval form.

Differences: what makes a script crash is an ``InputError`` or a measure without a value, said with its reason;
retrieval and Combined stand beside their numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from convqa.domain import TurnId
from convqa.errors import InputError
from convqa.files import log
from convqa.metrics.bleu import ORDER
from convqa.metrics.recall import recall
from convqa.metrics.reciprocal_rank import reciprocal_rank
from convqa.tasks.scores import Judged, Measure, Scores, columns, warn_of_unmatched
from convqa.tasks.sharc.answers import CLASSES, said
from convqa.tasks.sharc.official import NAMES
from convqa.tasks.sharc.run import DEPTH, Run
from convqa.tasks.sharc.table import BOTH, PREDICTED, TRUE, Figure, Sums, Table
from convqa.tasks.sharc.truth import Gold

MISSING = "missing"
"""What the scripts take as the answer to an utterance that the run lacks: a follow-up question, by its class."""

_NO_PAIR = "truth and run ask in no turn together: the official script divides by zero"
_MRR = f"MRR@{DEPTH}"


@dataclass(frozen=True, slots=True)
class _Scored:
    """A run beside its truth: ``labels`` are the gold classes, in which samples are drawn."""

    ids: tuple[TurnId, ...]
    labels: tuple[str, ...]
    right: tuple[float, ...]
    seen: tuple[bool | None, ...]
    table: Table

    def share(self, measure: Measure, group: str | None = None) -> Scores:
        """Of the right labels, over all turns or those of a class."""
        kept = [place for place, label in enumerate(self.labels) if group in {None, label}]
        found = Scores(measure, tuple(self.ids[p] for p in kept), tuple(self.right[p] for p in kept))
        return found if group is None else replace(found, groups=tuple(self.labels[p] for p in kept))

    def figure(self, measure: Measure, figure: Figure, why_not: str, by_class: bool = False) -> Scores:
        """A figure of the table, or why the whole run has none.

        :param by_class: whether samples are drawn within each gold class, so that none lacks one.
        """
        if figure(self.table, self.table.sums) is None:
            return Scores(measure, skipped=why_not)
        places = tuple(map(float, range(len(self.ids))))
        groups = self.labels if by_class else ("all",) * len(self.ids)
        return Scores(measure, self.ids, places, groups=groups, statistic=self.table.statistic(figure))

    def apart(self, whole: Scores) -> list[Scores]:
        """The same for seen and unseen rule texts, beside it; where one of them has no value, neither has."""
        groups = {id: ["seen" if seen else "unseen"] for id, seen in zip(self.ids, self.seen, strict=True)}
        if whole.skipped or None in self.seen or len(set(self.seen)) < 2:
            return []
        name, parts = whole.measure.name, []
        for group, part in sorted(whole.split(groups).items()):
            if part.statistic is not None and part.statistic(part.by_group()) is None:
                return []
            measure = replace(whole.measure, name=f"{name} ({group})", official=False, beside=name, label=group)
            parts.append(replace(part, measure=measure))
        return parts


def score(gold: Gold, run: Run, *_: object) -> list[Scores]:
    """Accuracies and BLEU of either form; in the open-retrieval form rankings, too, where the run has some.

    :raises InputError: where every follow-up question that BLEU rests on is an empty string: the scripts crash.
    """
    asked = {str(turn.id.conversation): turn for turn in gold.turns}
    lacking, foreign = "utterances: each counts as a question", "answers to utterances that are not in the truth"
    warn_of_unmatched(run.path, asked.keys(), run.answers.keys(), lacking, foreign)
    answers = {id: said(run.answers.get(id, MISSING), gold.form) for id in asked}
    pairs = [(said(turn.answer, gold.form), answers[id]) for id, turn in asked.items()]
    if gold.form == "open" and (count := sum(answer.text == "irrelevant" for answer in answers.values())):
        log.warning(
            "%s: %d answers are Irrelevant, which the open-retrieval form takes for a question", run.path, count
        )
    table = Table.of(pairs, gold.form)
    if table.used(table.sums) and not table.words(table.sums):
        raise InputError(
            f"{run.path}: every answer that BLEU is taken over is empty ({table.used(table.sums):.0f} of "
            f"{len(pairs)}), and the official script divides by zero; wanted a label or a question as answer."
        )
    scored = _Scored(
        tuple(turn.id for turn in gold.turns),
        tuple(truth.label for truth, _ in pairs),
        tuple(float(truth.label == answer.label) for truth, answer in pairs),
        tuple(turn.fields.get("snippet_seen") for turn in gold.turns),
        table,
    )
    return [*_official(scored)] if gold.form == "official" else [*_open(scored), *_retrieval(gold, run)]


def judged(gold: Gold, run: Run) -> Judged | None:
    """The rankings as far as runs keep them, and the rule texts that are right; None for a run without rankings."""
    relevant = {str(turn.id): (turn.snippet_id,) for turn in gold.turns if turn.snippet_id}
    if not run.passages or not relevant:
        return None
    turns = {str(turn.id): run.passages.get(str(turn.id.conversation), ()) for turn in gold.turns}
    return Judged(
        {turn: {id: 1 / rank for rank, id in enumerate(ids, 1)} for turn, ids in turns.items() if turn in relevant},
        relevant,
    )


def _official(scored: _Scored) -> Iterator[Scores]:
    yield scored.share(Measure("Micro accuracy", official=True))
    yield from _macro(scored, Measure("Macro accuracy", official=True))
    for order in range(1, ORDER + 1):
        yield scored.figure(Measure(f"BLEU-{order}", official=True), _bleu(order, BOTH), _NO_PAIR)
        if order == 1:
            count = Measure("BLEU pairs", beside="BLEU-1", label="turns where both ask", counts=True)
            yield scored.figure(count, lambda table, sums: table.used(sums), "")
    yield scored.figure(Measure("Combined"), _combined, "there is no macro accuracy", by_class=True)


def _open(scored: _Scored) -> Iterator[Scores]:
    percent = Measure("Micro accuracy %", official=True, scale=100.0)
    micro = scored.share(percent)
    yield from (micro, *scored.apart(micro))
    yield from _macro(scored, replace(percent, name="Macro accuracy %"))
    for order in (1, ORDER, *range(2, ORDER)):
        line = Measure(f"F1_BLEU-{order}", official=True)
        whole = scored.figure(line, _f1(order), _NO_PAIR)
        yield whole
        if whole.skipped:
            continue
        for name, part in (("P", PREDICTED), ("R", TRUE)):
            beside = replace(percent, name=f"{name}_BLEU-{order}", beside=line.name, label=name)
            yield scored.figure(beside, _bleu(order, part), _NO_PAIR)
        yield from scored.apart(whole) if order in {1, ORDER} else ()


def _macro(scored: _Scored, measure: Measure) -> Iterator[Scores]:
    """With the recall of each class beside it; where a class is not in the truth, in its place the reason."""
    classes = CLASSES[scored.table.form]
    lacking = [name for name in classes if name not in scored.labels]
    reason = f"the truth has no answer of class {', '.join(lacking)}"
    whole = scored.figure(measure, Table.macro, reason, by_class=True)
    yield whole
    if whole.skipped:
        return
    unit = measure.name.removeprefix("Macro accuracy")
    for name in classes:
        part = replace(measure, name=f"Recall {name}{unit}", beside=measure.name, label=name)
        yield scored.share(replace(part, official=part.name in NAMES), name)
    yield from scored.apart(whole)


def _bleu(order: int, part: int) -> Figure:
    return lambda table, sums: table.bleu(sums, order, part)


def _f1(order: int) -> Figure:
    """In percent, from precision and recall as the script prints them, with two digits."""

    def f1(table: Table, sums: Sums) -> float | None:
        precision, recall = (table.bleu(sums, order, part) for part in (PREDICTED, TRUE))
        if precision is None or recall is None:
            return None
        first, second = round(100 * precision, 2), round(100 * recall, 2)
        return round(2 * first * second / (first + second), 2) if first + second else 0.0

    return f1


def _combined(table: Table, sums: Sums) -> float | None:
    macro, last = table.macro(sums), table.bleu(sums, ORDER)
    return None if macro is None or last is None else macro * last


def _retrieval(gold: Gold, run: Run) -> list[Scores]:
    """Where in its ranking the right rule text is; ours. An utterance that the run lacks counts 0."""
    depths = {f"R@{k}": k for k in (1, 5, DEPTH)}
    measures = (Measure(_MRR), *(Measure(name, beside=_MRR, label=name) for name in depths))
    if not run.passages:
        return columns(measures, "the run has no passages")
    rows = []
    for turn in gold.turns:
        if turn.snippet_id:
            relevant, ranking = {turn.snippet_id}, run.passages.get(str(turn.id.conversation), ())
            found = {name: recall(relevant, ranking, k) for name, k in depths.items()}
            rows.append((turn.id, {_MRR: reciprocal_rank(relevant, ranking), **found}))
    return columns(measures, rows or "the truth has no gold_snippet_id")
