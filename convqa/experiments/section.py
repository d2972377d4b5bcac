"""The record of an ablation, and what a report shows of one input."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from convqa.evaluation import Evaluation, evaluate
from convqa.evaluation.compute import groups_of
from convqa.evaluation.measures import known_measures
from convqa.experiments import plots
from convqa.experiments.cell import AblationInput
from convqa.experiments.compare import Comparison, compare_evaluations, counted_measures, without_rankings
from convqa.experiments.examples import examples
from convqa.experiments.tables import basis_of
from convqa.tasks.base import Groups
from convqa.validation import Record

HUMAN = "human"
"""The row, or the value of an axis, with human rewrites: an upper bound, never the best row."""

DEFAULT_MEASURES = 4
"""Number of measures in a table if the ablation names none."""

MAX_LINES = 8
"""Maximum lines of a plot."""

DEPTH = "depth"
"""The breakdown by the turn's number in its conversation."""


class RowRecord(Record):
    """A row of an ablation. ``values``: axis -> the name of its value."""

    name: str
    values: dict[str, str]


class MeanRecord(Record):
    """The mean of a measure with its interval."""

    mean: float
    low: float
    high: float


class CellRecord(Record):
    """The result of a row over an input. ``milliseconds`` a turn, by node."""

    row: str
    input: str
    folder: str
    status: str
    message: str
    milliseconds: dict[str, float]
    measures: dict[str, MeanRecord]


class AblationRecord(Record):
    """The contents of ``ablation.json`` that a report uses."""

    name: str
    question: str
    base: str
    measures: list[str] = []
    inputs: Annotated[list[AblationInput], Field(min_length=1)]
    rows: list[RowRecord]
    cells: list[CellRecord]
    versions: dict[str, str]


def section(record: AblationRecord, source: AblationInput, output: Path) -> dict[str, Any]:
    """Return the variables of the templates for one input.

    :raises InputError: if a finished cell cannot be evaluated.
    """
    cells = {cell.row: cell for cell in record.cells if cell.input == source.name}
    known = dict.fromkeys(name for cell in cells.values() for name in cell.measures)
    measures = [name for name in record.measures if name in known]
    if not measures:
        rankings_first = sorted(known, key=lambda name: not name.startswith(("MRR", "nDCG")))
        measures = rankings_first[:DEFAULT_MEASURES]
    lead = measures[0] if measures else ""
    means = {row: cell.measures[lead].mean for row, cell in cells.items() if lead in cell.measures}
    rows = [row for row in record.rows if row.name in cells]
    rows.sort(key=lambda row: -means.get(row.name, -1.0))
    ranked = [row.name for row in rows if row.name in means and HUMAN not in row.values.values()]
    best = ranked[0] if ranked else None
    evaluations = _evaluations(record, source, cells, output)
    counts = counted_measures(evaluations.values())
    top = {}
    for name in measures:
        by_row = [cells[row].measures[name].mean for row in ranked if name in cells[row].measures]
        if by_row and name not in counts:
            top[name] = max(by_row)
    shown: dict[str, Any] = {
        "source": source,
        "lead": lead,
        "measures": measures,
        "cells": cells,
        "rows": rows,
        "best": best,
        "means": means,
        "top": top,
        "compared": None,
        "against_best": None,
        "basis": "",
        "turns": [],
        "plots": [],
    }
    if best is None:
        return shown
    points = []
    for number, row in enumerate(rows, 1):
        if row.name in ranked:
            cell = cells[row.name]
            mean = cell.measures[lead]
            milliseconds = sum(cell.milliseconds.values())
            group = next(iter(row.values.values()), row.name)
            points.append(plots.Point(number, group, milliseconds, mean.mean, mean.low, mean.high))
    shown["plots"].append(plots.quality_over_time(points, lead))
    scored = {row: evaluation for row, evaluation in evaluations.items() if lead in evaluation.scores}
    if best not in scored or record.base not in scored or len(scored) < 2:
        return shown
    names = {name for evaluation in scored.values() for name in evaluation.scores}
    compared = compare_evaluations(scored, record.base, [name for name in measures if name in names])
    against_best = compare_evaluations(scored, best, [lead], _depths(scored[best]))
    shown["compared"] = compared
    shown["against_best"] = against_best
    shown["basis"] = basis_of(compared, lead)
    shown["turns"] = examples(compared, best, lead, output / cells[best].folder, Path(source.path))
    # The best row, and those that differ from it on the first axis only.
    others = {row.name: list(row.values.values())[1:] for row in rows}
    alike = [row for row, values in others.items() if values == others[best]]
    lines = _lines(against_best, (record.base, *alike))
    if lines:
        shown["plots"].append(plots.by_depth(lines, lead))
    if best != record.base:
        gains = [turn.score - turn.base for turn in compared.turns(best, lead)]
        shown["plots"].append(plots.differences(gains, best, record.base, lead))
    return shown


def _evaluations(
    record: AblationRecord,
    source: AblationInput,
    cells: Mapping[str, CellRecord],
    output: Path,
) -> dict[str, Evaluation]:
    """Return the evaluations of the finished cells by row, if the truth is still there."""
    evaluations: dict[str, Evaluation] = {}
    if source.truth and Path(source.truth).exists():
        measures = known_measures(record.measures)
        for row, cell in cells.items():
            if cell.status == "done":
                evaluation = evaluate(source.truth, output / cell.folder, measures=measures, partial=True)
                evaluations[row] = without_rankings(evaluation)
    return evaluations


def _depths(evaluation: Evaluation) -> dict[str, Groups]:
    """Return the turns by their number, if the task has this breakdown."""
    task, gold = evaluation.task, evaluation.gold
    names = [DEPTH] if DEPTH in task.breakdowns(gold, gold.path) else []
    return groups_of(task, gold, gold.path, names)


def _lines(comparison: Comparison, rows: Iterable[str]) -> dict[str, dict[str, float]]:
    """Return the means of rows by depth, for up to MAX_LINES rows that have any."""
    lines: dict[str, dict[str, float]] = {row: {} for row in rows}
    for depth, differences in comparison.breakdowns.get(DEPTH, {}).items():
        for one in differences:
            for row, mean in ((comparison.against, one.base), (one.run, one.mean)):
                if row in lines:
                    lines[row][depth] = mean
    drawn = [row for row, line in lines.items() if line]
    return {row: lines[row] for row in drawn[:MAX_LINES]}
