"""ShARC's corpus-level figures: macro accuracy, BLEU and their product.

All are computed from sums over turns, so they exist for any sample of turns, such as a bootstrap sample or a group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from convqa.domain import TurnId
from convqa.sharc.bleu import COLUMNS, bleu, bleu_counts
from convqa.sharc.schema import CLASSES, Form, NormalizedAnswer, normalize
from convqa.sharc.truth import ShARCGold
from convqa.tasks.scores import Measure, Scores

BOTH = PREDICTED = 0
TRUE = 1
"""The parts of a row with counts for BLEU: in the official form, turns where both ask; in the open-retrieval form,
turns where the run asks (precision) and turns where the truth asks (recall)."""

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

Sums: TypeAlias = "NDArray[numpy.float64]"
Figure: TypeAlias = "Callable[[Table, Sums], float | None]"


@dataclass(frozen=True, slots=True)
class Table:
    """A run compared with its truth, turn by turn.

    ``labels``: the gold classes, within which samples are drawn. ``right``: 1 where the run has the gold class. A row
    holds indicators of the gold class and of its correct prediction, and for each part of BLEU whether the turn counts
    and its counts.
    """

    form: Form
    ids: tuple[TurnId, ...]
    labels: tuple[str, ...]
    right: tuple[float, ...]
    seen: tuple[bool | None, ...]
    rows: Sums

    @classmethod
    def of(cls, gold: ShARCGold, answers: Sequence[NormalizedAnswer]) -> Table:
        """Compare the run's answers, one per turn, with the truth."""
        import numpy

        truths = [normalize(turn.answer, gold.form) for turn in gold.turns]
        pairs = list(zip(truths, answers, strict=True))
        rows = [_row(truth, answer, gold.form) for truth, answer in pairs]
        return cls(
            gold.form,
            tuple(turn.id for turn in gold.turns),
            tuple(truth.label for truth in truths),
            tuple(float(truth.label == answer.label) for truth, answer in pairs),
            tuple(turn.fields.get("snippet_seen") for turn in gold.turns),
            numpy.array(rows, dtype=numpy.float64),
        )

    @property
    def sums(self) -> Sums:
        """The sums over all turns."""
        sums: Sums = self.rows.sum(axis=0)
        return sums

    def share(self, measure: Measure) -> Scores:
        """Return the share of right labels."""
        return Scores(measure, self.ids, self.right)

    def recall(self, measure: Measure, label: str) -> Scores:
        """Return the share of right labels among the turns of a class."""
        kept = [index for index, own_label in enumerate(self.labels) if own_label == label]
        return replace(self.share(measure), groups=self.labels).at(kept)

    def figure(
        self,
        measure: Measure,
        figure: Figure,
        why_not: str,
        by_class: bool = False,
    ) -> Scores:
        """Return a figure of the table, or why the run has none. Its "values" are indexes of the table.

        :param by_class: draw samples within each gold class, so that none lacks one.
        """
        import numpy

        if figure(self, self.sums) is None:
            return Scores(measure, skipped=why_not)

        def of_sample(groups: Mapping[str, Sequence[float]]) -> float | None:
            sampled = numpy.concatenate(list(groups.values()))
            counts = numpy.bincount(sampled.astype(numpy.intp), minlength=len(self.rows))
            sums = counts.astype(numpy.float64) @ self.rows
            return figure(self, sums)

        return Scores(
            measure,
            self.ids,
            tuple(float(index) for index in range(len(self.ids))),
            groups=self.labels if by_class else ("all",) * len(self.ids),
            statistic=of_sample,
        )

    def apart(self, whole: Scores) -> list[Scores]:
        """Return the scores for seen and unseen rule texts, on the same line; none if one of them has no value."""
        if whole.skipped or None in self.seen or len(set(self.seen)) < 2:
            return []
        name = whole.measure.name
        parts = []
        for group, wanted in (("seen", True), ("unseen", False)):
            part = whole.of({id for id, seen in zip(self.ids, self.seen, strict=True) if seen == wanted})
            if not part.ids:
                continue
            if part.statistic is not None and part.statistic(part.by_group()) is None:
                return []
            measure = replace(
                whole.measure,
                name=f"{name} ({group})",
                official=False,
                line=name,
                label=group,
            )
            parts.append(replace(part, measure=measure))
        return parts

    def macro(self, sums: Sums) -> float | None:
        """Return the mean of the class recalls; None if a class is not in the truth (NaN in the script)."""
        count = len(CLASSES[self.form])
        gold, right = sums[:count], sums[count : 2 * count]
        return float((right / gold).mean()) if gold.all() else None

    def used(self, sums: Sums, part: int = BOTH) -> float:
        """Return the number of turns that a part's BLEU is computed from."""
        return float(sums[self._start(part)])

    def words(self, sums: Sums, part: int = BOTH) -> float:
        """Return the number of words in the answers of those turns."""
        return float(sums[self._start(part) + COLUMNS - 1])

    def bleu(self, sums: Sums, order: int, part: int = BOTH) -> float | None:
        """Return 0 without turns, as the scripts do; None where they divide by zero."""
        start = self._start(part)
        if not sums[start]:
            return 0.0
        return bleu(sums[start + 1 : start + 1 + COLUMNS].tolist(), order)

    def _start(self, part: int) -> int:
        return 2 * len(CLASSES[self.form]) + part * (1 + COLUMNS)


def _row(gold: NormalizedAnswer, answer: NormalizedAnswer, form: Form) -> list[int]:
    classes = CLASSES[form]
    is_gold = [int(gold.label == name) for name in classes]
    is_right = [int(gold.label == name == answer.label) for name in classes]
    if form == "official":
        parts = _part(gold.asks and answer.asks, gold.words, answer.words)
    else:
        reference = gold.words if gold.asks else ()
        hypothesis = answer.words if answer.asks else ()
        parts = [
            *_part(answer.asks, reference, answer.words),
            *_part(gold.asks, gold.words, hypothesis),
        ]
    return [*is_gold, *is_right, *parts]


def _part(counts: bool, reference: Sequence[str], hypothesis: Sequence[str]) -> list[int]:
    return [1, *bleu_counts(reference, hypothesis)] if counts else [0] * (1 + COLUMNS)
