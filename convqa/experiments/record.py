"""The record of an ablation: its settings and the result of each cell."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import Field

from convqa.driver.history import HistoryMode
from convqa.experiments.grid import Conversations, GridRow
from convqa.validation import Record

RECORD = "ablation.json"
"""The record's file in the output folder."""

DEFAULT_MEASURES = 4
"""Number of measures in a table if the ablation names none."""


class AblationInput(Record):
    """An input of an ablation and its settings; ``turns`` is the number of turns that are run."""

    name: str
    path: str
    task: str = ""
    truth: str | None
    history: HistoryMode
    conversations: Conversations
    collection: str | None = None
    turns: int


class MeanRecord(Record):
    """The mean of a measure with its interval."""

    mean: float
    low: float
    high: float
    turns: int


class CellRecord(Record):
    """The result of a row over an input. ``milliseconds`` a turn, by node."""

    row: str
    input: str
    folder: str
    status: str
    message: str = ""
    milliseconds: dict[str, float] = {}
    measures: dict[str, MeanRecord] = {}

    @property
    def total(self) -> float:
        """Milliseconds a turn."""
        return sum(self.milliseconds.values())


class AblationRecord(Record):
    """The contents of ``ablation.json``."""

    name: str
    question: str
    base: str
    pipeline: str
    measures: list[str]
    inputs: Annotated[list[AblationInput], Field(min_length=1)]
    override: dict[str, Any] = {}
    rows: list[GridRow]
    cells: list[CellRecord]
    versions: dict[str, str]

    def cells_of(self, source: AblationInput) -> dict[str, CellRecord]:
        """Return the cells of an input by row."""
        return {cell.row: cell for cell in self.cells if cell.input == source.name}

    def measures_of(self, source: AblationInput) -> list[str]:
        """Return the measures to show for an input: those that the ablation names, or else some, of rankings first."""
        known = dict.fromkeys(name for cell in self.cells_of(source).values() for name in cell.measures)
        asked = [name for name in self.measures if name in known]
        if asked:
            return asked
        rankings_first = sorted(known, key=lambda name: not name.startswith(("MRR", "nDCG")))
        return rankings_first[:DEFAULT_MEASURES]


def largest_means(cells: Iterable[CellRecord]) -> dict[str, float]:
    """Return the largest mean of each measure."""
    largest: dict[str, float] = {}
    for cell in cells:
        for name, measured in cell.measures.items():
            largest[name] = max(measured.mean, largest.get(name, measured.mean))
    return largest
