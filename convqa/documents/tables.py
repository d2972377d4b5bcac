"""Tables as blocks: caption, header row, rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from convqa.documents.archive import number
from convqa.documents.blocks import Block
from convqa.documents.numerals import in_format

MAX_COLUMNS = 60
"""Columns of a table that are read, and that a cell can span."""
MAX_REPEATED_CHARACTERS = 500
"""Length up to which the text of a cell that spans rows is repeated in each."""

_MAX_POINTS = 1000
"""Values of a series of a chart that are read."""
_MAX_HEADER_CHARACTERS = 60
"""Length of a cell in a row that is taken for a header row because of its words."""
_DIGIT = re.compile(r"\d")
_YEAR = re.compile(r"(19|20)\d\d")


def table(rows: Sequence[Sequence[str]], headers: int = 0, page: int = 0) -> Iterator[Block]:
    """Yield the blocks of a table without its empty rows and columns.

    A first row with one cell only is the caption, if other rows have more.

    :param headers: how many first rows are header rows; 0 to find out.
    """
    # Empty rows are no header rows.
    headers = sum(map(any, rows[:headers]))
    grid = _filled(rows)
    if len(grid) > 2 and len(grid[0]) > 1 and sum(map(bool, grid[0])) == 1:
        yield Block("caption", "".join(grid.pop(0)), page=page)
        headers = max(headers - 1, 0)
    headers = headers or int(has_header(grid))
    if 0 < headers < len(grid):
        # A column's header is the words of all header rows.
        header = tuple(" ".join(dict.fromkeys(filter(None, cells))) for cells in zip(*grid[:headers], strict=True))
        yield Block("header", cells=header, page=page)
        grid = grid[headers:]
    for row in grid:
        yield Block("row", cells=row, page=page)


def chart(root: Any, page: int = 0) -> Iterator[Block]:
    """Yield the blocks of a chart of Office: its title as caption, its categories and series as a table.

    :param root: the element of the chart's part.
    """
    columns: list[list[str]] = []
    for series in root.iter("{*}ser"):
        if not columns:
            columns.append(["", *_cached(series, "cat"), *_cached(series, "xVal")])
        columns.append([" ".join(_cached(series, "tx")), *_cached(series, "val"), *_cached(series, "yVal")])
    title = "".join(text.text or "" for text in root.iterfind("{*}chart/{*}title//{*}t"))
    if columns and title.strip():
        yield Block("caption", " ".join(title.split()), page=page)
    yield from table(list(zip_longest(*columns, fillvalue="")), 1, page)


def _cached(series: Any, name: str) -> list[str]:
    """Return the values of a chart's series that are stored with the chart."""
    code = series.findtext(f"{{*}}{name}//{{*}}formatCode", "")
    points: dict[int, str] = {}
    for point in series.iterfind(f"{{*}}{name}//{{*}}pt"):
        points[min(number(point.get("idx", "")), _MAX_POINTS)] = in_format(point.findtext("{*}v", ""), code)
    return [points.get(index, "") for index in range(max(points, default=-1) + 1)]


def _filled(rows: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return rows of the same length, without empty rows and columns."""
    width = min(MAX_COLUMNS, max(map(len, rows), default=0))
    columns = [index for index in range(width) if any(index < len(row) and row[index] for row in rows)]
    grid = [tuple(row[index] if index < len(row) else "" for index in columns) for row in rows]
    return [row for row in grid if any(row)]


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row has an empty corner, no digits where others have, or short words in three columns."""
    grid = _filled(rows)
    if len(grid) < 2:
        return False
    first, *others = grid
    if not first[0] and all(first[1:]):
        return True
    numeric = [index for index, cells in enumerate(zip(*others, strict=True)) if _are_numbers(cells)]
    if numeric:
        return all(first[index] and _is_word(first[index]) for index in numeric)
    short = all(0 < len(cell) <= _MAX_HEADER_CHARACTERS and _is_word(cell) for cell in first[1:])
    return short and len(first) > 2


def _are_numbers(cells: Sequence[str]) -> bool:
    return any(cells) and all(_DIGIT.search(cell) for cell in cells if cell)


def _is_word(cell: str) -> bool:
    return not _DIGIT.search(cell) or bool(_YEAR.fullmatch(cell))
