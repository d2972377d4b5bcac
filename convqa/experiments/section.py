"""What a report shows of one input of an ablation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from convqa.evaluation import Evaluation, evaluate
from convqa.evaluation.measures import known_measures
from convqa.experiments import plots
from convqa.experiments.compare import Comparison, compare_evaluations, without_rankings
from convqa.experiments.examples import examples
from convqa.experiments.record import AblationInput, AblationRecord, CellRecord, largest_means
from convqa.experiments.tables import basis_of
from convqa.tasks.base import Groups

HUMAN = "human"
"""The row, or the value of an axis, with human rewrites: an upper bound, never the best row."""

MAX_LINES = 8
"""Maximum lines of a plot."""

DEPTH = "depth"
"""The breakdown by the turn's number in its conversation."""


def section(record: AblationRecord, source: AblationInput, output: Path) -> dict[str, Any]:
    """Return the variables of the templates for one input.

    :raises InputError: if a finished cell cannot be evaluated.
    """
    cells = record.cells_of(source)
    measures = record.measures_of(source)
    lead = measures[0] if measures else ""
    means = {row: cell.measures[lead].mean for row, cell in cells.items() if lead in cell.measures}
    rows = [row for row in record.rows if row.name in cells]
    rows.sort(key=lambda row: -means.get(row.name, -1.0))
    ranked = [row.name for row in rows if row.name in means and HUMAN not in row.values.values()]
    shown: dict[str, Any] = {
        "source": source,
        "lead": lead,
        "measures": measures,
        "cells": cells,
        "rows": rows,
        "best": None,
        "means": means,
        "top": {},
        "compared": None,
        "against_best": None,
        "basis": "",
        "turns": [],
        "plots": [],
    }
    if not ranked:
        return shown
    best = ranked[0]
    evaluations = _evaluations(record, source, cells, output)
    shown["best"] = best
    shown["top"] = largest_means(cells[row] for row in ranked)
    points = []
    for number, row in enumerate(rows, 1):
        if row.name in ranked:
            group = next(iter(row.values.values()), row.name)
            points.append(plots.Point(number, group, cells[row.name]))
    shown["plots"].append(plots.quality_over_time(points, lead))
    scored = {row: evaluation for row, evaluation in evaluations.items() if lead in evaluation.scores}
    if best not in scored or record.base not in scored or len(scored) < 2:
        return shown
    names: set[str] = set()
    for evaluation in scored.values():
        names.update(evaluation.scores)
    compared = compare_evaluations(scored, record.base, [name for name in measures if name in names])
    against_best = compare_evaluations(scored, best, [lead], _depths(scored[best]))
    shown["compared"] = compared
    shown["against_best"] = against_best
    shown["basis"] = basis_of(compared, lead)
    shown["turns"] = examples(compared, best, lead, output / cells[best].folder, Path(source.path))
    # The best row, and those that differ from it on the first axis only.
    others = {row.name: list(row.values.values())[1:] for row in rows}
    alike = [row for row, values in others.items() if values == others[best]]
    lines = _lines(against_best, [record.base, *alike])
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
    gold = evaluation.gold
    breakdowns = evaluation.task.breakdowns(gold, gold.path)
    return {DEPTH: breakdowns[DEPTH]()} if DEPTH in breakdowns else {}


def _lines(comparison: Comparison, rows: Iterable[str]) -> dict[str, dict[str, float]]:
    """Return the means of rows by depth, for up to MAX_LINES rows that have any."""
    lines: dict[str, dict[str, float]] = {row: {} for row in rows}
    for depth, differences in comparison.breakdowns.get(DEPTH, {}).items():
        means = {}
        for difference in differences:
            means[comparison.against] = difference.base
            means[difference.run] = difference.mean
        for row, line in lines.items():
            if row in means:
                line[depth] = means[row]
    drawn = [row for row, line in lines.items() if line]
    return {row: lines[row] for row in drawn[:MAX_LINES]}
