"""Tables as blocks: caption, header row, rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest

from convqa.documents.blocks import Block

MAX_COLUMNS = 60
"""Columns of a table that are read."""
_NAME = re.compile(r"(19|20)\d\d|\D{1,60}")
"""A cell that can be the name of a column: a year or words."""


def table(
    rows: Sequence[Sequence[str]],
    headers: int = 0,
    page: int = 0,
) -> Iterator[Block]:
    """Yield the blocks of a table without its empty rows and columns.

    A first row with a single text is the caption, if other rows have more. An empty paragraph ends the table, which
    separates it from a table after it.

    :param headers: how many of the first rows are header rows; 0 to find out.
    """
    headers = sum(map(any, rows[:headers]))
    columns = islice(zip_longest(*rows, fillvalue=""), MAX_COLUMNS)
    filled = filter(any, columns)
    grid = list(filter(any, zip(*filled, strict=True)))
    is_large = len(grid) > 2 and len(grid[0]) > 1
    if is_large and not any(grid[0][1:]):
        yield Block("caption", grid.pop(0)[0], page=page)
        headers -= 1
    if headers < 1 and grid:
        headers = int(_has_header(grid))
    if 0 < headers < len(grid):
        # A column's header is the words of all header rows.
        cells = []
        for column in zip(*grid[:headers], strict=True):
            words = dict.fromkeys(filter(None, column))
            cells.append(" ".join(words))
        yield Block("header", cells=tuple(cells), page=page)
        grid = grid[headers:]
    for row in grid:
        yield Block("row", cells=row, page=page)
    if grid:
        yield Block("paragraph", page=page)


def _has_header(grid: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row has an empty corner, or names of three columns or of a column of numbers."""
    first, *others = grid
    if not first[0]:
        return all(first[1:])
    if not all(map(_NAME.fullmatch, first[1:])):
        return False
    columns = zip(*others, strict=True)
    has_numbers = any(any(column) and all(map(_is_number, column)) for column in columns)
    return has_numbers or len(first) > 2


def _is_number(cell: str) -> bool:
    return not cell or any(map(str.isdigit, cell))
