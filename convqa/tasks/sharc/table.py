"""ShARC's corpus-level figures (macro accuracy, BLEU, their product), computable on any sample of turns.

All are figures of sums over turns, so a sample of turns (for an interval, for a group) has them as the whole run does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from convqa.domain import TurnId
from convqa.metrics.bleu import COLUMNS, bleu, bleu_counts
from convqa.tasks.scores import Measure, Scores
from convqa.tasks.sharc.answers import CLASSES, Scored, said
from convqa.tasks.sharc.schema import Form
from convqa.tasks.sharc.truth import Gold

BOTH, PREDICTED, TRUE = 0, 0, 1
"""The parts of a row that BLEU rests on: in the official form the turns where both ask; in the open-retrieval form
those where the run asks (precision), and those where the truth asks (recall)."""

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

Sums: TypeAlias = "NDArray[numpy.float64]"
Figure: TypeAlias = "Callable[[Table, Sums], float | None]"


@dataclass(frozen=True, slots=True)
class Table:
    """A run beside its truth, turn by turn.

    ``labels`` are the gold classes, in which samples are drawn; ``right`` says where the run's is the same. A row holds
    the gold class, the same where it was said, and of each part of BLEU whether the turn counts, and what.
    """

    form: Form
    ids: tuple[TurnId, ...]
    labels: tuple[str, ...]
    right: tuple[float, ...]
    seen: tuple[bool | None, ...]
    rows: Sums

    @classmethod
    def of(cls, gold: Gold, answers: Sequence[Scored]) -> Table:
        """:param answers: the run's, turn by turn."""
        import numpy

        pairs = [(said(turn.answer, gold.form), answer) for turn, answer in zip(gold.turns, answers, strict=True)]
        return cls(
            gold.form,
            tuple(turn.id for turn in gold.turns),
            tuple(truth.label for truth, _ in pairs),
            tuple(float(truth.label == answer.label) for truth, answer in pairs),
            tuple(turn.fields.get("snippet_seen") for turn in gold.turns),
            numpy.array([_row(truth, answer, gold.form) for truth, answer in pairs], dtype=numpy.float64),
        )

    @property
    def sums(self) -> Sums:
        """Of all turns."""
        sums: Sums = self.rows.sum(axis=0)
        return sums

    def share(self, measure: Measure, group: str | None = None) -> Scores:
        """Of the right labels, over all turns or those of a class."""
        kept = [place for place, label in enumerate(self.labels) if group in {None, label}]
        found = Scores(measure, tuple(self.ids[p] for p in kept), tuple(self.right[p] for p in kept))
        return found if group is None else replace(found, groups=tuple(self.labels[p] for p in kept))

    def figure(self, measure: Measure, figure: Figure, why_not: str, by_class: bool = False) -> Scores:
        """A figure of the table, or why the whole run has none. Its "values" are places in the table.

        :param by_class: whether samples are drawn within each gold class, so that none lacks one.
        """
        import numpy

        if figure(self, self.sums) is None:
            return Scores(measure, skipped=why_not)

        def of_sample(groups: Mapping[str, Sequence[float]]) -> float | None:
            places = numpy.concatenate(list(groups.values())).astype(numpy.intp)
            counts = numpy.bincount(places, minlength=len(self.rows)).astype(numpy.float64)
            return figure(self, counts @ self.rows)

        places = tuple(map(float, range(len(self.ids))))
        groups = self.labels if by_class else ("all",) * len(self.ids)
        return Scores(measure, self.ids, places, groups=groups, statistic=of_sample)

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

    def macro(self, sums: Sums) -> float | None:
        """Mean of the class recalls; None where a class is not in the truth (the script's is NaN then)."""
        count = len(CLASSES[self.form])
        gold, right = sums[:count], sums[count : 2 * count]
        return float((right / gold).mean()) if gold.all() else None

    def used(self, sums: Sums, part: int = BOTH) -> float:
        """The turns that a part's BLEU rests on."""
        return float(sums[self._start(part)])

    def words(self, sums: Sums, part: int = BOTH) -> float:
        """The words of the answers of those turns."""
        return float(sums[self._start(part) + COLUMNS - 1])

    def bleu(self, sums: Sums, order: int, part: int = BOTH) -> float | None:
        """0 where the part has no turn, as in the scripts; None where they divide by zero."""
        start = self._start(part)
        if not sums[start]:
            return 0.0
        return bleu(sums[start + 1 : start + 1 + COLUMNS].tolist(), order)

    def _start(self, part: int) -> int:
        return 2 * len(CLASSES[self.form]) + part * (1 + COLUMNS)


def _row(gold: Scored, answer: Scored, form: Form) -> list[int]:
    classes = CLASSES[form]
    row = [int(gold.label == name) for name in classes]
    row += [int(gold.label == name == answer.label) for name in classes]
    if form == "official":
        return row + _part(gold.asks and answer.asks, gold.words, answer.words)
    row += _part(answer.asks, gold.words if gold.asks else (), answer.words)
    return row + _part(gold.asks, gold.words, answer.words if answer.asks else ())


def _part(counts: bool, reference: Sequence[str], hypothesis: Sequence[str]) -> list[int]:
    return [1, *bleu_counts(reference, hypothesis)] if counts else [0] * (1 + COLUMNS)
