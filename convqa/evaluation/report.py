"""An evaluation for people and for programs: the official file, a table, scores by turn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from convqa.domain import TurnId
from convqa.evaluation.result import Evaluation
from convqa.files import to_json_bytes, whole_file


def official_text(evaluation: Evaluation) -> str:
    """What the task's official file says: official measures only, and of those the ones that could be computed."""
    names = [column.measure.name for column in evaluation.columns if column.measure.official]
    summaries = evaluation.summaries
    return evaluation.task.official_text({name: summaries[name].mean for name in names if name in summaries})


def write_official(evaluation: Evaluation, directory: Path) -> Path:
    """Write the task's official file (QReCC: DIRECTORY/evaluation.prototext); returns its path."""
    path = directory / evaluation.task.official_file
    with whole_file(path) as stream:
        stream.write(official_text(evaluation).encode())
    return path


def write_turns(evaluation: Evaluation, path: Path) -> Path:
    """Write one JSON line a turn of the truth: its name as the task's files have it, and each score that it has."""
    rows: dict[TurnId, dict[str, Any]] = {turn.id: evaluation.task.key(turn.id) for turn in evaluation.gold.turns}
    for name, scores in evaluation.scores.items():
        if scores.groups:  # a macro average: the groups have the same scores under their own names
            continue
        for id, value in zip(scores.ids, scores.values, strict=True):
            rows[id][name] = value
    with whole_file(path) as stream:
        stream.writelines(to_json_bytes(row) + b"\n" for row in rows.values())
    return path


def render(evaluation: Evaluation) -> Group:
    """Tables for the terminal. A measure that could not be computed shows a dash and the reason."""
    table = Table("measure", title=Text(str(evaluation.run.path)), title_justify="left")
    table.add_column("mean", justify="right")
    table.add_column("95 % interval", justify="right", no_wrap=True)
    table.add_column("turns", justify="right", no_wrap=True)
    table.add_column("beside")
    for measure in evaluation.measures:
        name = measure.name
        if name in evaluation.summaries:
            summary = evaluation.summaries[name]
            span = f"{summary.low:.3f} - {summary.high:.3f}"
            table.add_row(Text(name), f"{summary.mean:.3f}", span, f"{summary.turns:,}", _beside(evaluation, name))
        else:
            reason = "; ".join(filter(None, (evaluation.skipped[name], _beside(evaluation, name))))
            table.add_row(Text(name), "-", "-", "0", reason)
    return Group(table, *(_breakdown(evaluation, name) for name in evaluation.breakdowns))


def _beside(evaluation: Evaluation, name: str) -> str:
    measures = [column.measure for column in evaluation.columns if column.measure.beside == name]
    means = [(measure, evaluation.summaries[measure.name].mean) for measure in measures]
    return ", ".join(
        f"{mean:.1f} {measure.label}" if measure.counts else f"{measure.label} {mean:.3f}" for measure, mean in means
    )


def _breakdown(evaluation: Evaluation, name: str) -> Table:
    """Means by group, each with the number of turns that it rests on."""
    measures = [measure.name for measure in evaluation.measures if measure.name in evaluation.summaries]
    table = Table(title=Text(f"by {name}: mean (turns)"), title_justify="left")
    table.add_column(Text(name), no_wrap=True)
    for measure in measures:
        table.add_column(Text(measure), justify="right")
    for group, summaries in evaluation.breakdowns[name].items():
        cells = [
            f"{summaries[measure].mean:.3f} ({summaries[measure].turns:,})" if measure in summaries else "-"
            for measure in measures
        ]
        table.add_row(Text(group), *cells)
    return table
