"""Tables as blocks: caption, header row, rows."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise, zip_longest
from typing import NamedTuple

from convqa.documents.blocks import Block

logger = logging.getLogger(__name__)

MAX_COLUMNS = 60
"""Columns of a table that are read."""
MAX_SPANNED_ROWS = 100
_MAX_REPEATED_CHARS = 80
"""Maximum characters of a spanning cell that each column repeats. A longer text is kept in the first column only."""
_NAME = re.compile(r"(19|20)\d\d|\D{1,60}")
"""A cell that can be the name of a column: a year or words."""

_TITLE = re.compile(r".{0,29}[^.!?]")
"""A row that can be the title of those below it."""


class TableCell(NamedTuple):
    """A cell and how many rows and columns it spans. ``text`` is None if it goes on from the row above."""

    text: str | None
    rows: int = 1
    columns: int = 1


def spread(rows: Iterable[Sequence[TableCell]]) -> Iterator[list[str]]:
    """Yield the texts of rows. That of a cell that spans rows or columns stands in each of them.

    A row whose only text spans columns is this text alone.
    """
    spanned: dict[tuple[int, int], str] = {}
    texts: list[str] = []
    for number, row in enumerate(rows):
        above = texts
        texts = []
        for cell in (*row, None):
            while (number, len(texts)) in spanned:
                texts.append(spanned.pop((number, len(texts))))
            column = len(texts)
            if cell is None or column > MAX_COLUMNS:
                break
            text = "".join(above[column : column + 1]) if cell.text is None else cell.text
            other = text if len(text) * cell.columns <= _MAX_REPEATED_CHARS else ""
            others = min(cell.columns - 1, MAX_COLUMNS // 2) if any(texts) or len(row) > 1 else 0
            texts += [text, *[other] * others]
            for below in range(number + 1, number + min(cell.rows, MAX_SPANNED_ROWS)):
                spanned |= {(below, place): texts[place] for place in range(column, len(texts))}
        yield texts


def table(
    rows: Sequence[Sequence[str]],
    headers: int = 0,
    page: int = 0,
) -> Iterator[Block]:
    """Yield the blocks of a table without its empty rows and columns.

    A first row with a single text is the caption, if other rows have more, and a later row of one short cell that of
    the rows below it. An empty paragraph ends the table, which separates it from a table after it.

    :param headers: how many of the first rows are header rows; 0 to find out.
    """
    headers = sum(map(any, rows[:headers]))
    if any(any(row[MAX_COLUMNS:]) for row in rows):
        logger.warning("the columns of a table after the first %d are not read", MAX_COLUMNS)
    spans_all = [len(row) == 1 for row in rows if any(row[:MAX_COLUMNS])]
    columns = islice(zip_longest(*rows, fillvalue=""), MAX_COLUMNS)
    filled = filter(any, columns)
    grid = list(filter(any, zip(*filled, strict=True)))
    is_large = len(grid) > 2 and len(grid[0]) > 1
    if is_large and not any(grid[0][1:]):
        yield Block("caption", grid.pop(0)[0], page=page)
        spans_all.pop(0)
        headers -= 1
    if headers < 1 and grid:
        headers = int(_has_header(grid))
    while 0 < headers < len(grid) - 1 and _is_divided(grid[headers - 1], grid[headers]):
        headers += 1
    header = []
    if 0 < headers < len(grid):
        # A column's header is the words of all header rows.
        cells = []
        for column in zip(*grid[:headers], strict=True):
            words = dict.fromkeys(filter(None, column))
            cells.append(" ".join(words))
        header = [Block("header", cells=tuple(cells), page=page)]
        yield from header
        del grid[:headers], spans_all[:headers]
    for row, below, is_alone in zip(grid, [*grid[1:], ()], spans_all, strict=False):
        if is_alone and any(below[1:]) and _TITLE.fullmatch(row[0]):
            yield Block("caption", row[0], page=page)
            yield from header
        else:
            yield Block("row", cells=row, page=page)
    if grid:
        yield Block("paragraph", page=page)


def _is_divided(header: Sequence[str], row: Sequence[str]) -> bool:
    """Return whether columns with one name in a header row have names of their own in the next row."""
    has_twins = any(cell and cell == after for cell, after in pairwise(header))
    return has_twins and row[0] in ("", header[0]) and all(map(_NAME.fullmatch, row[1:]))


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
