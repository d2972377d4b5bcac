"""Tables as blocks: caption, header row, rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from convqa.documents.blocks import Block

MAX_COLUMNS = 60
"""Columns of a table that are read, and that a cell can span."""
MAX_REPEATED_CHARACTERS = 500
"""Length up to which the text of a cell that spans rows is repeated in each."""

_MAX_HEADER_CHARACTERS = 60
"""Length of a cell in a row that is taken for a header row because of its words."""
_DIGIT = re.compile(r"\d")
_YEAR = re.compile(r"(19|20)\d\d")


def table(rows: Sequence[Sequence[str]], headers: int = 0, page: int = 0) -> Iterator[Block]:
    """Yield the blocks of a table without its empty rows and columns.

    A first row with one cell only is the caption, if other rows have more.

    :param headers: how many first rows are header rows; 0 to find out.
    """
    width = min(MAX_COLUMNS, max(map(len, rows), default=0))
    columns = [index for index in range(width) if any(index < len(row) and row[index] for row in rows)]
    grid = [tuple(row[index] if index < len(row) else "" for index in columns) for row in rows]
    grid = [row for row in grid if any(row)]
    if len(columns) > 1 and len(grid) > 2 and sum(map(bool, grid[0])) == 1:
        yield Block("caption", "".join(grid.pop(0)), page=page)
        headers = max(headers - 1, 0)
    headers = headers or int(_has_header(grid))
    if 0 < headers < len(grid):
        # A column's header is the words of all header rows.
        header = tuple(" ".join(dict.fromkeys(filter(None, cells))) for cells in zip(*grid[:headers], strict=True))
        yield Block("header", cells=header, page=page)
        grid = grid[headers:]
    for row in grid:
        yield Block("row", cells=row, page=page)


def _has_header(grid: Sequence[Sequence[str]]) -> bool:
    """Whether the first row has no digits where the others have, or has short words in three columns or more."""
    if len(grid) < 2:
        return False
    first, *others = grid
    numeric = [index for index, cells in enumerate(zip(*others, strict=True)) if _are_numbers(cells)]
    if numeric:
        return all(first[index] and _is_word(first[index]) for index in numeric)
    short = all(0 < len(cell) <= _MAX_HEADER_CHARACTERS and _is_word(cell) for cell in first[1:])
    return short and len(first) > 2 and len(set(first)) == len(first)


def _are_numbers(cells: Sequence[str]) -> bool:
    return any(cells) and all(_DIGIT.search(cell) for cell in cells if cell)


def _is_word(cell: str) -> bool:
    return not _DIGIT.search(cell) or bool(_YEAR.fullmatch(cell))
