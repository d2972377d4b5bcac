"""An evaluation for people and for programs: the official file, a table, scores by turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.cells import cell_len
from rich.console import Group
from rich.table import Table
from rich.text import Text

from convqa.domain import TurnId
from convqa.evaluation.result import Evaluation, Summary
from convqa.files import to_json_bytes, whole_file

_HEADS = ("measure", "mean", "95 % interval", "turns", "beside")
_BESIDE, _GROUP = 16, 24
"""Characters that a column needs: of what stands beside a measure, and of a group with a long name."""
_GROUPS, _NAME = 20, 60
"""Groups of a breakdown that are shown, and characters of their names."""


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

    Numbers are never cut: columns for which there is no room are left out, with a note, and breakdowns become a table
    for each group.
    """
    rows = [_row(evaluation, measure.name) for measure in evaluation.measures]
    columns = list(zip(_HEADS, *rows, strict=True))
    widths = [max(map(cell_len, column)) for column in columns]
    widths[-1] = min(widths[-1], _BESIDE)
    kept = list(range(len(columns)))
    for place in (4, 2, 3):
        if sum(widths[place] + 3 for place in kept) + 1 > width:
            kept.remove(place)
    numbers = [widths[place] if place in {1, 2, 3} else None for place in kept]
    table = _grid(str(evaluation.run.path), [columns[place] for place in kept], numbers)
    gone = ", ".join(head for place, head in enumerate(_HEADS) if place not in kept)
    notes = [Text(f"No room for: {gone}. Wider terminals and --json show all.")] if gone else []
    return Group(
        table, *notes, *(part for name in evaluation.breakdowns for part in _breakdown(evaluation, name, width))
    )


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
    measures = [measure.name for measure in evaluation.measures if measure.name in evaluation.summaries]
    groups = evaluation.breakdowns[name]
    largest = sorted(groups, key=lambda group: -max((one.turns for one in groups[group].values()), default=0))[:_GROUPS]
    rows = [
        (_shortened(group), *(_cell(groups[group].get(measure)) for measure in measures))
        for group in groups
        if group in largest
    ]
    columns = list(zip((name, *measures), *rows, strict=True))
    title = f"by {name}: mean (turns)"
    widths = [max(map(cell_len, column)) for column in columns]
    if sum(widths) + 3 * len(widths) + 1 <= width:
        yield _grid(title, columns, [None, *widths[1:]])
    else:  # the other way round: as many groups side by side as there is room for
        head, *others = zip(*columns, strict=True)
        numbers = max((cell_len(cell) for _, *cells in others for cell in cells), default=0)
        room = width - max(map(cell_len, head)) - 4
        wide = max(numbers, min(_GROUP, room - 3, max((cell_len(group) for group, *_ in others), default=0)))
        at_once = max(1, room // (wide + 3))
        for start in range(0, len(others), at_once):
            block = others[start : start + at_once]
            yield _grid(title, [head, *block], [None, *[wide] * len(block)])
    if len(groups) > len(rows):
        yield Text(f"The {len(rows)} largest of {len(groups):,} groups of {name}; --json has all.")


def _grid(title: str, columns: Sequence[Sequence[str]], widths: Sequence[int | None]) -> Table:
    """A table of columns, each with its head first. Those that have a width hold numbers."""
    table = Table(title=Text(title), title_justify="left")
    for (head, *_), width in zip(columns, widths, strict=True):
        table.add_column(Text(head), overflow="fold", justify="right" if width else "left", width=width)
    for row in zip(*(cells for _, *cells in columns), strict=True):
        table.add_row(*map(Text, row))
    return table


def _cell(summary: Summary | None) -> str:
    return f"{summary.mean:.3f} ({summary.turns:,})" if summary else "-"


def _shortened(group: str) -> str:
    text = " ".join(group.split())
    return text if len(text) <= _NAME else f"{text[: _NAME - 3]}..."
