"""Tables of a PDF's page: by the rules around their cells, or by cells that are aligned."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Sequence
from itertools import pairwise

from convqa.documents.pdf_lines import NEAR, Box, Row, TableRow, Word, band, chunks_of, is_close, split

_MIN_RULE = 6.0
"""Points. Shorter lines are no rules."""
_MAX_FRAMES = 300
_MAX_CELL = 800
"""Characters of a cell. A frame around more than that is no table."""

_MIN_ROWS = 3
"""Lines with several cells of a table without rules around its cells."""
_MAX_LEADING = 1.25
"""Distance of lines in a cell, in font sizes."""
_ROW_GAP = 1.25
"""Distance of rows, in distances of lines in a cell."""


def with_ruled_tables(words: list[Word], rules: Sequence[Box]) -> list[Word]:
    """Return words with one word in place of each table that has rules around its cells."""
    for frame in _frames(rules):
        down = [rule for rule in frame if rule.right - rule.left < 1]
        across = [rule for rule in frame if rule not in down]
        lefts = [rule.left for rule in frame]
        rights = [rule.right for rule in across]
        xs = _places([*lefts, *rights])
        ys = _places(rule.top for rule in across)
        if not down or len(xs) < 3 or len(ys) < 3:
            continue
        inside: list[Word] = []
        others: list[Word] = []
        for word in words:
            is_between = xs[0] < word.middle < xs[-1] and ys[0] < word.height < ys[-1]
            if is_between and not word.table:
                inside.append(word)
            else:
                others.append(word)
        table = _ruled_table(inside, xs, ys, across, down)
        lengths = [sum(len(word.text) for word in cell) for row in table for cell in row]
        has_columns = any(sum(map(bool, row)) > 1 for row in table)
        if has_columns and max(lengths) <= _MAX_CELL:
            sign = Word("|", xs[0], xs[-1], ys[0], 0, table=table)
            words = [*others, sign]
    return words


def _frames(rules: Iterable[Box]) -> list[list[Box]]:
    """Return the rules that touch one another, together; none of a drawing with many that are apart."""
    frames: list[list[Box]] = []
    for rule in rules:
        if max(rule.right - rule.left, rule.bottom - rule.top) <= _MIN_RULE:
            continue
        frame = [rule]
        apart = []
        for other in frames:
            if any(rule.touches(each) for each in other):
                frame += other
            else:
                apart.append(other)
        frames = [*apart, frame]
        if len(frames) > _MAX_FRAMES:
            return []
    return frames


def _places(values: Iterable[float]) -> list[float]:
    """Return values in order, without those that are near the one before."""
    places: list[float] = []
    for value in sorted(values):
        if not places or value - places[-1] > NEAR:
            places.append(value)
    return places


def _ruled_table(
    words: Iterable[Word],
    xs: list[float],
    ys: list[float],
    across: Iterable[Box],
    down: Iterable[Box],
) -> list[TableRow]:
    table: list[TableRow] = []
    for top, bottom in pairwise(ys):
        middle = (top + bottom) / 2
        # A cell over several columns has no rules in it.
        edges = xs[:1]
        for x in xs[1:]:
            point = Box(x, middle, x, middle)
            if any(rule.touches(point) for rule in down):
                edges.append(x)
        cells: TableRow = [[] for _ in xs[1:]]
        for column, (left, right) in enumerate(pairwise(xs)):
            center = (left + right) / 2
            point = Box(center, top, center, top)
            is_new = any(rule.touches(point) for rule in across)
            # A cell over several rows or columns belongs to each of them.
            if table and not is_new:
                cells[column] = table[-1][column]
            elif left not in edges:
                cells[column] = cells[column - 1]
        for word in words:
            if top < word.height <= bottom:
                edge = edges[bisect(edges, word.middle) - 1]
                cells[min(xs.index(edge), len(cells) - 1)].append(word)
        table.append(cells)
    return table


def aligned_table(rows: Sequence[Row], start: int) -> tuple[list[TableRow], int]:
    """Return the rows of the table that begins at a line, none if no table begins there, and the line after it."""
    first = rows[start]
    if first[0].table:
        return first[0].table, start + 1
    # A cell of several lines can begin above the others of its row.
    is_above = start + 1 < len(rows) and is_close(first, rows[start + 1])
    if len(chunks_of(rows[start + is_above])) == 1:
        return [], start
    end, columns = band(rows, start, keeps_all=True)
    lines = [split(row, columns) for row in rows[start:end]]
    while len(lines) > 1 and lines[-1][0] and sum(map(bool, lines[-1])) < 2:
        # A line that stands in the first column only follows the table, if it is no part of the row before.
        last = start + len(lines) - 1
        if is_close(rows[last - 1], rows[last]):
            break
        lines.pop()
    filled = [cells for cells in lines if sum(map(bool, cells)) > 1]
    if len(filled) < _MIN_ROWS:
        return [], start
    table: list[TableRow] = []
    begin_rows = _begin_rows(rows[start:end], lines)
    for cells, is_new in zip(lines, begin_rows, strict=False):
        if is_new:
            table.append([[] for _ in cells])
        for cell, words in zip(table[-1], cells, strict=True):
            cell += words
    return table, start + len(lines)


def _begin_rows(rows: Sequence[Row], lines: Sequence[TableRow]) -> list[bool]:
    """Return for each line of a table whether it begins a row: by larger distances, else by its first cell."""
    steps = []
    for (before, above), (row, cells) in pairwise(zip(rows, lines, strict=False)):
        has_common_cell = any(map(all, zip(above, cells, strict=True)))
        is_beside = is_close(before, row) and not has_common_cell
        steps.append(0 if is_beside else row[0].base - before[0].base)
    others = [step for step in steps if step]
    usual = min(others, default=0)
    if len(others) < len(steps):
        # Cells are centred, so that no row need have two lines with their usual distance.
        usual = min(usual, _MAX_LEADING * rows[0][0].size)
    is_loose = [step > _ROW_GAP * usual for step in steps]
    if sum(is_loose) >= 0.3 * len(others):
        return [True, *is_loose]
    return [True, *(bool(cells[0]) for cells in lines[1:])]
