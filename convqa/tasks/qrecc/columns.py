"""From rows of numbers, a turn each, to the scores of measures."""

from __future__ import annotations

from collections.abc import Sequence

from convqa.domain import TurnId
from convqa.tasks.qrecc.truth import GoldTurn
from convqa.tasks.scores import Measure, Scores

Rows = list[tuple[TurnId, dict[str, float]]]


def columns(measures: Sequence[Measure], rows: Rows | str) -> list[Scores]:
    """The scores by measure; if they are a reason, it is given for each measure with a line of its own."""
    if isinstance(rows, str):
        return [Scores(measure, skipped=rows) for measure in measures if not measure.beside]
    found = []
    for measure in measures:
        column = [(id, row[measure.name]) for id, row in rows if measure.name in row]
        found.append(Scores(measure, tuple(id for id, _ in column), tuple(value for _, value in column)))
    return found


def collapsed(turns: Sequence[GoldTurn]) -> list[GoldTurn]:
    """Of turns that are twice in the truth the last: EM, F1 and MRR are kept by turn, QR and ROUGE1-R are not."""
    return list({turn.id: turn for turn in turns}.values())
