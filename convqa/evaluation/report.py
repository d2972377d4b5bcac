"""An evaluation for people and for programs: the official file, a table, scores by turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.console import Group
from rich.table import Table
from rich.text import Text

from convqa.domain import TurnId
from convqa.evaluation.result import Evaluation, Summary
from convqa.files import to_json_bytes, whole_file

_BESIDE, _GROUP = 16, 24
"""Characters that a column of text needs: of what stands beside a measure, and of the names of groups."""
_GROUPS = 20
"""Groups of a breakdown that are shown."""


class _Column(NamedTuple):
    """``needs``: the characters that it takes at least; those of a number are never cut."""

    head: str
    cells: Sequence[str]
    number: bool = True
    needs: int = 0

    @property
    def width(self) -> int:
        """With the lines around it."""
        return 3 + (self.needs or max(map(cell_len, (self.head, *self.cells))))


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


def render(evaluation: Evaluation, width: int = 80) -> Group:
    """Tables for a terminal of that width. A measure that could not be computed shows a dash and the reason.

    Numbers are never cut: columns for which there is no room are left out, with a note, and the measures of a breakdown
    are split over several tables.
    """
    cells = list(zip(*(_row(evaluation, measure.name) for measure in evaluation.measures), strict=True))
    measure, mean, interval, turns, beside = (
        _Column("measure", cells[0], number=False),
        _Column("mean", cells[1]),
        _Column("95 % interval", cells[2]),
        _Column("turns", cells[3]),
        _Column("beside", cells[4], number=False, needs=min(_BESIDE, max(map(cell_len, cells[4])))),
    )
    columns = [measure, mean, interval, turns, beside]
    for column in (beside, interval, turns):
        if sum(kept.width for kept in columns) + 1 > width:
            columns.remove(column)
    gone = ", ".join(column.head for column in (interval, turns, beside) if column not in columns)
    notes = [Text(f"No room for: {gone}. Wider terminals and --json show all.")] if gone else []
    breakdowns = (part for name in evaluation.breakdowns for part in _breakdown(evaluation, name, width))
    return Group(_grid(str(evaluation.run.path), columns), *notes, *breakdowns)


def _row(evaluation: Evaluation, name: str) -> tuple[str, ...]:
    beside = _beside(evaluation, name)
    if name not in evaluation.summaries:
        return (name, "-", "-", "0", "; ".join(filter(None, (evaluation.skipped[name], beside))))
    summary = evaluation.summaries[name]
    return (name, f"{summary.mean:.3f}", f"{summary.low:.3f} - {summary.high:.3f}", f"{summary.turns:,}", beside)


def _beside(evaluation: Evaluation, name: str) -> str:
    measures = [column.measure for column in evaluation.columns if column.measure.beside == name]
    means = [(measure, evaluation.summaries[measure.name].mean) for measure in measures]
    return ", ".join(
        f"{mean:.1f} {measure.label}" if measure.counts else f"{measure.label} {mean:.3f}" for measure, mean in means
    )


def _breakdown(evaluation: Evaluation, name: str, width: int) -> Iterator[Table | Text]:
    """Means by group, each with the number of turns that it rests on; of many groups those with the most turns."""
    groups = list(evaluation.breakdowns[name].items())
    measures = [one.name for one in evaluation.measures if any(found.get(one.name) for _, found in groups)]
    if len(groups) > _GROUPS:
        yield Text(f"The {_GROUPS} largest of {len(groups):,} groups of {name}; --json has all.")
        groups.sort(key=lambda group: -max((one.turns for one in group[1].values()), default=0))
        del groups[_GROUPS:]
    columns = [_Column(measure, [_cell(found.get(measure)) for _, found in groups]) for measure in measures]
    # The names have what room there is beside all measures, or beside one.
    names = [" ".join(group.split()) for group, _ in groups]
    room = width - 4 - sum(column.width for column in columns)
    if room < min(_GROUP, max(map(cell_len, (name, *names)))):
        room = min(_GROUP, width - 4 - max((column.width for column in columns), default=0))
    head = _Column(name, [_shortened(group, room) for group in names], number=False)
    title, block = f"by {name}: mean (turns)", [head]
    for column in columns:
        if len(block) > 1 and sum(one.width for one in (*block, column)) + 1 > width:
            yield _grid(title, block)
            title, block = "", [head]
        block.append(column)
    yield _grid(title, block)


def _grid(title: str, columns: Sequence[_Column]) -> Table:
    table = Table(title=Text(title) if title else None, title_justify="left")
    for column in columns:
        width = column.width - 3 if column.number else None
        table.add_column(Text(column.head), overflow="fold", justify="right" if width else "left", width=width)
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*map(Text, row))
    return table


def _cell(summary: Summary | None) -> str:
    return f"{summary.mean:.3f} ({summary.turns:,})" if summary else "-"


def _shortened(text: str, width: int) -> str:
    """At most so many characters of a terminal, with an ellipsis where there were more."""
    shown = Text(text)
    shown.truncate(max(1, width), overflow="ellipsis")
    return shown.plain
