"""The record of an ablation, and what a report shows of one input."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from convqa.evaluation import Evaluation, evaluate
from convqa.evaluation.measures import known_measures
from convqa.evaluation.result import value_of
from convqa.experiments import plots
from convqa.experiments.compare import compare_evaluations, counted_measures, without_rankings
from convqa.experiments.examples import examples
from convqa.experiments.tables import basis_of
from convqa.validation import Record

HUMAN = "human"
"""The row, or the value of an axis, with human rewrites: an upper bound, never the best row."""

DEFAULT_MEASURES = 4
"""Number of measures in a table if the ablation names none."""

MAX_LINES = 8
"""Maximum lines of a plot."""


class InputRecord(Record):
    """An input of an ablation."""

    name: str
    path: str
    truth: str | None
    history: str
    conversations: str
    turns: int


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
    inputs: Annotated[list[InputRecord], Field(min_length=1)]
    rows: list[RowRecord]
    cells: list[CellRecord]
    versions: dict[str, str]


def section(record: AblationRecord, source: InputRecord, output: Path) -> dict[str, Any]:
    """Return the variables of the templates for one input.

    :raises InputError: if a finished cell cannot be evaluated.
    """
    cells = {cell.row: cell for cell in record.cells if cell.input == source.name}
    evaluations: dict[str, Evaluation] = {}
    if source.truth and Path(source.truth).exists():
        for row, cell in cells.items():
            if cell.status == "done":
                folder = output / cell.folder
                evaluation = evaluate(source.truth, folder, measures=known_measures(record.measures), partial=True)
                evaluations[row] = without_rankings(evaluation)
    measures = _shown_measures(record, cells, evaluations)
    lead = measures[0] if measures else ""
    means = {row: cell.measures[lead].mean for row, cell in cells.items() if lead in cell.measures}
    messages = {row: cell.message for row, cell in cells.items() if cell.status == "done" and cell.message}
    rows = [row for row in record.rows if row.name in cells]
    rows.sort(key=lambda row: -means.get(row.name, -1.0))
    ranked = [row.name for row in rows if row.name in means and HUMAN not in row.values.values()]
    best = ranked[0] if ranked else None
    shown: dict[str, Any] = {
        "source": source,
        "lead": lead,
        "measures": measures,
        "cells": cells,
        "rows": rows,
        "best": best,
        "means": means,
        "top": _top(measures, [cells[row] for row in ranked], counted_measures(evaluations.values())),
        "gaps": _gaps(record, means),
        "compared": None,
        "against_best": None,
        "basis": "",
        "turns": [],
        "plots": [],
        "notes": messages,
    }
    scored = {row: evaluation for row, evaluation in evaluations.items() if lead in evaluation.scores}
    if best in scored and record.base in scored and len(scored) > 1:
        names = {name for evaluation in scored.values() for name in evaluation.scores}
        compared = compare_evaluations(scored, record.base, [name for name in measures if name in names])
        shown["compared"] = compared
        shown["against_best"] = compare_evaluations(scored, best, [lead])
        shown["basis"] = basis_of(compared, lead)
        shown["turns"] = list(examples(compared, best, lead, output / cells[best].folder, Path(source.path)))
    if best is not None:
        shown["plots"] = list(_plots(record, shown, ranked, evaluations))
    return shown


def _shown_measures(
    record: AblationRecord,
    cells: Mapping[str, CellRecord],
    evaluations: Mapping[str, Evaluation],
) -> list[str]:
    """Return the ablation's measures, or else some with a line of their own, those of rankings first."""
    known = dict.fromkeys(name for cell in cells.values() for name in cell.measures)
    asked = [name for name in record.measures if name in known]
    if asked:
        return asked
    lines = {measure.name for evaluation in evaluations.values() for measure in evaluation.measures}
    names = [name for name in known if name in lines or not lines]
    names.sort(key=lambda name: not name.startswith(("MRR", "nDCG")))
    return names[:DEFAULT_MEASURES]


def _top(
    measures: Sequence[str],
    cells: Sequence[CellRecord],
    counts: Collection[str],
) -> dict[str, float]:
    """Return the best mean of each measure, except of counts."""
    top = {}
    for name in measures:
        means = [cell.measures[name].mean for cell in cells if name in cell.measures]
        if means and name not in counts:
            top[name] = max(means)
    return top


def _gaps(record: AblationRecord, means: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Return the means of rewriters, the baseline's first, by the values of the other axes, for groups with HUMAN."""
    human_axes = [axis for row in record.rows for axis, value in row.values.items() if value == HUMAN]
    base = [row for row in record.rows if row.name == record.base]
    if not human_axes or not base:
        return {}
    axis = human_axes[0]
    plain = base[0].values.get(axis, "")
    if plain == HUMAN:
        return {}
    groups: dict[str, dict[str, float]] = {}
    for row in sorted(record.rows, key=lambda row: row.values.get(axis) != plain):
        if row.name in means:
            others = [value for name, value in row.values.items() if name != axis]
            group = groups.setdefault(" + ".join(others), {})
            group[row.values.get(axis, "")] = means[row.name]
    return {name: group for name, group in groups.items() if plain in group and HUMAN in group}


def _plots(
    record: AblationRecord,
    shown: Mapping[str, Any],
    ranked: Sequence[str],
    evaluations: Mapping[str, Evaluation],
) -> Iterator[str]:
    """Yield the plots of an input as SVG.

    :param shown: the variables of the templates. :param ranked: the rows to compare by time.
    """
    lead, best, compared = shown["lead"], shown["best"], shown["compared"]
    styles, legend = styles_of(record.rows)
    points = {}
    for row in ranked:
        cell = shown["cells"][row]
        mean = cell.measures[lead]
        points[row] = (sum(cell.milliseconds.values()), mean.mean, mean.low, mean.high)
    yield plots.quality_over_time(points, styles, legend, lead)
    if shown["gaps"]:
        yield plots.gains(shown["gaps"], HUMAN, lead)
    # The best row, and those that differ from it on the first axis only.
    others = {row.name: list(row.values.values())[1:] for row in shown["rows"]}
    alike = [row for row, values in others.items() if values == others[best]]
    lines = {row: _by_depth(evaluations[row], lead) for row in (record.base, *alike) if row in evaluations}
    if any(lines.values()):
        yield plots.by_depth(dict(list(lines.items())[:MAX_LINES]), styles, lead)
    if compared and best != record.base:
        gains = [turn.score - turn.base for turn in compared.turns(best, lead)]
        yield plots.differences(gains, best, record.base, lead)


def _by_depth(evaluation: Evaluation, measure: str) -> dict[str, float]:
    """Return the means by the turn's number, if the task has this breakdown."""
    breakdowns = evaluation.task.breakdowns(evaluation.gold, evaluation.gold.path)
    if "depth" not in breakdowns or measure not in evaluation.scores:
        return {}
    scores = evaluation.scores[measure]
    means = {}
    for name, members in breakdowns["depth"]().items():
        mean = value_of(scores.of(members))
        if mean is not None:
            means[name] = mean
    return means


def styles_of(rows: Sequence[RowRecord]) -> tuple[dict[str, plots.Style], list[tuple[plots.Style, str]]]:
    """Return the style of each row, by its values on axes with several values, and the legend."""
    axes: dict[str, list[str]] = {}
    for axis in dict.fromkeys(axis for row in rows for axis in row.values):
        names = list(dict.fromkeys(row.values.get(axis, "") for row in rows))
        if len(names) > 1:
            axes[axis] = names
    styles: dict[str, plots.Style] = {}
    for row in rows:
        styles[row.name] = tuple(names.index(row.values.get(axis, "")) for axis, names in axes.items())
    legend: list[tuple[plots.Style, str]] = []
    neutral = (plots.GRAY, 0, 0)
    for number, names in enumerate(list(axes.values())[: len(neutral)]):
        for index, name in enumerate(names):
            if name != HUMAN:
                legend.append(((*neutral[:number], index), name))
    return styles, legend
