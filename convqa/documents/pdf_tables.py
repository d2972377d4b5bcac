"""Tables of a PDF's page: by the rules around their cells, or by cells that are aligned."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from convqa.documents.pdf_lines import NEAR, Box, Row, TableRow, Word, band, chunks_of, split

_MIN_RULE = 6.0
"""Points. Shorter lines are no rules."""
_MAX_CELL = 800
"""Characters of a cell. A frame around more than that is no table."""

_MIN_ROWS = 3
"""Lines with several cells of a table without rules around its cells."""


class _Rule(NamedTuple):
    """A horizontal or vertical rule: its distance from the top or left, and where it starts and ends."""

    place: float
    start: float
    end: float

    def reaches(self, point: float) -> bool:
        return self.start - NEAR <= point <= self.end + NEAR


def with_ruled_tables(words: list[Word], rules: Sequence[Box]) -> list[Word]:
    """Return words with one word in place of each table that has rules around its cells."""
    across = [_Rule(top, left, right) for left, top, right, bottom in rules if _is_rule(bottom - top, right - left)]
    down = [_Rule(left, top, bottom) for left, top, right, bottom in rules if _is_rule(right - left, bottom - top)]
    for rows, columns in _grids(set(across), set(down)):
        ys = _places(rule.place for rule in rows)
        ends = [end for rule in rows for end in (rule.start, rule.end)]
        xs = _places([*ends, *(rule.place for rule in columns)])
        if len(xs) < 3 or len(ys) < 3:
            continue
        free = (word for word in words if not word.table)
        inside = {word for word in free if xs[0] < word.middle < xs[-1] and ys[0] < word.height < ys[-1]}
        table = _ruled_table(inside, xs, ys, rows, columns)
        longest = max(sum(len(word.text) for word in cell) for cell in chain.from_iterable(table))
        if longest <= _MAX_CELL and any(sum(map(bool, row)) > 1 for row in table):
            words = [word for word in words if word not in inside]
            words.append(Word("|", xs[0], xs[-1], ys[0], 0, table=table))
    return words


def _is_rule(width: float, length: float) -> bool:
    return width < 1 and length > _MIN_RULE


def _grids(across: Iterable[_Rule], down: Iterable[_Rule]) -> list[tuple[set[_Rule], set[_Rule]]]:
    """Return the horizontal and vertical rules that cross or meet one another, together."""
    grids: list[tuple[set[_Rule], set[_Rule]]] = []
    for rule in down:
        rows = {other for other in across if other.reaches(rule.place) and rule.reaches(other.place)}
        columns = {rule}
        apart = []
        for grid in grids:
            if grid[0].isdisjoint(rows):
                apart.append(grid)
            else:
                rows |= grid[0]
                columns |= grid[1]
        grids = [*apart, (rows, columns)]
    return grids


def _places(values: Iterable[float]) -> list[float]:
    """Return values in order, without those that are near the one before."""
    places: list[float] = []
    for value in sorted(values):
        if not places or value - places[-1] > NEAR:
            places.append(value)
    return places


def _ruled_table(
    words: Iterable[Word], xs: list[float], ys: list[float], rows: Iterable[_Rule], columns: Iterable[_Rule]
) -> list[TableRow]:
    table: list[TableRow] = []
    for top, bottom in pairwise(ys):
        cells: TableRow = []
        for column, (left, right) in enumerate(pairwise(xs)):
            # A cell over several rows belongs to each of them.
            is_new = not table or _has_rule(rows, top, (left + right) / 2)
            cells.append([] if is_new else table[-1][column])
        # A cell over several columns has no rules in it.
        edges = [x for x in xs if x == xs[0] or _has_rule(columns, x, (top + bottom) / 2)]
        for word in words:
            if top < word.height <= bottom:
                edge = edges[bisect(edges, word.middle) - 1]
                cells[min(xs.index(edge), len(cells) - 1)].append(word)
        table.append(cells)
    return table


def _has_rule(rules: Iterable[_Rule], place: float, point: float) -> bool:
    return any(abs(rule.place - place) <= NEAR and rule.start <= point <= rule.end for rule in rules)


def _begin_rows(rows: Sequence[Row], lines: Sequence[TableRow]) -> list[bool]:
    """Return for each line of a table whether it begins a row: by larger distances, else by its first cell."""
    steps = [row[0].base - before[0].base for before, row in pairwise(rows[: len(lines)])]
    is_loose = [step > 1.3 * min(steps) for step in steps]
    if sum(is_loose) >= 0.3 * len(steps):
        return [True, *is_loose]
    return [True, *(bool(cells[0]) for cells in lines[1:])]


def aligned_table(rows: Sequence[Row], start: int) -> tuple[list[TableRow], int]:
    """Return the rows of the table that begins at a line, none if no table begins there, and the line after it."""
    first = rows[start]
    if first[0].table:
        return first[0].table, start + 1
    if len(chunks_of(first)) == 1:
        return [], start
    end, columns = band(rows, start, keeps_all=True)
    lines = [split(row, columns) for row in rows[start:end]]
    while lines and lines[-1][0] and sum(map(bool, lines[-1])) < 2:
        # A line that stands in the first column only follows the table.
        lines.pop()
    if sum(sum(map(bool, cells)) > 1 for cells in lines) < _MIN_ROWS:
        return [], start
    table: list[TableRow] = []
    for cells, is_new in zip(lines, _begin_rows(rows[start:end], lines), strict=False):
        if is_new:
            table.append([[] for _ in cells])
        for cell, words in zip(table[-1], cells, strict=True):
            cell += words
    return table, start + len(lines)
