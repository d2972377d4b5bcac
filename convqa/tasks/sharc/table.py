"""What each utterance adds to the figures that are no means of turns: class recalls' mean, corpus BLEU, their product.

All are figures of sums over turns, so a sample of turns (for an interval, for a group) has them as the whole run does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from convqa.metrics.bleu import COLUMNS, bleu, bleu_counts
from convqa.tasks.scores import Statistic
from convqa.tasks.sharc.answers import CLASSES, Said
from convqa.tasks.sharc.schema import Form

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
    """A row for each turn: gold class, the same where it was said, and of each part whether it counts, and what."""

    form: Form
    rows: Sums

    @classmethod
    def of(cls, pairs: Sequence[tuple[Said, Said]], form: Form) -> Table:
        """:param pairs: (truth, answer) of each turn."""
        import numpy

        rows = [_row(gold, answer, form) for gold, answer in pairs]
        return cls(form, numpy.array(rows, dtype=numpy.float64))

    @property
    def sums(self) -> Sums:
        """Of all turns."""
        sums: Sums = self.rows.sum(axis=0)
        return sums

    def statistic(self, figure: Figure) -> Statistic:
        """The figure of samples of turns. Their "values" are places in the table."""
        import numpy

        def of(groups: Mapping[str, Sequence[float]]) -> float | None:
            places = numpy.concatenate(list(groups.values())).astype(numpy.intp)
            counts = numpy.bincount(places, minlength=len(self.rows)).astype(numpy.float64)
            return figure(self, counts @ self.rows)

        return of

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


def _row(gold: Said, answer: Said, form: Form) -> list[int]:
    classes = CLASSES[form]
    row = [int(gold.label == name) for name in classes]
    row += [int(gold.label == name == answer.label) for name in classes]
    if form == "official":
        return row + _part(gold.asks and answer.asks, gold.words, answer.words)
    row += _part(answer.asks, gold.words if gold.asks else (), answer.words)
    return row + _part(gold.asks, gold.words, answer.words if answer.asks else ())


def _part(counts: bool, reference: Sequence[str], hypothesis: Sequence[str]) -> list[int]:
    return [1, *bleu_counts(reference, hypothesis)] if counts else [0] * (1 + COLUMNS)
