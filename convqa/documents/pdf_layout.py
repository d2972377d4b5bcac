"""Lay out the pages of a PDF as lines and tables in the order in which they are read."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from convqa.documents.pdf_lines import (
    Row,
    Sheet,
    TableRow,
    Word,
    band,
    chunks_of,
    has_paragraph,
    is_prose,
    right_of,
    rows_of,
    split,
    text_of,
)
from convqa.documents.pdf_tables import aligned_table, with_ruled_tables

_EDGE_ROWS = 3
"""Lines at the top and bottom of a page that may be running titles or page numbers."""
_AROUND = 4
"""Pages before and after on most of which a running title stands."""
_MIN_REPEATS = 3
_MAX_FRONT_PAGES = 30
"""Limit of the difference between a page and its number beside a running title."""
_MIN_COLUMN = 0.25
"""Minimum height of a column, as a share of the height of those beside it."""
_MAX_DEPTH = 3
"""Columns within columns."""
_PAGE_NUMBER = re.compile(
    r"(?i)\W*(?:page|seite|strona|página|pagina|p\.|s\.)?\s*(\d{1,4})(?:\s*(?:/|of|von|z|de|sur)\s*\d+)?[^\w%€$£¥]*"
)
_IS_NUMBER = re.compile(r"#-?\d+ -?\d+$")


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A column of a page, or the whole page, between other columns.

    :param depth: 0 for the page, 1 for its columns ...
    """

    page: int
    depth: int
    left: float
    right: float


class Line:
    """A line of a column. ``style``: its font size, and whether it is bold."""

    def __init__(self, words: Row, column: Column) -> None:
        self.words = words
        self.column = column
        self.text = text_of(words)
        self.base = words[0].base
        longest = max(words, key=lambda word: len(word.text))
        self.size = longest.size
        is_bold = all(word.is_bold for word in words)
        self.style = (round(self.size * 2) / 2, is_bold)
        self.indent = words[0].left - column.left

    def has_room_for(self, line: Line) -> bool:
        """Return whether the next line's first word would fit on this line."""
        first = line.words[0]
        width = first.right - first.left
        blank = 0.8 * line.size
        return self.words[-1].right + blank + width < self.column.right


class Table(NamedTuple):
    """The rows of a table on one page."""

    rows: list[TableRow]
    page: int


def elements_of(sheets: Sequence[Sheet]) -> Iterator[Line | Table]:
    """Yield the lines and tables of a document without running titles and page numbers."""
    pages = [rows_of(sheet.words) for sheet in sheets]
    titles = _running_titles(sheets, pages)
    for sheet, rows in zip(sheets, pages, strict=True):
        words = [word for row in rows if id(row) not in titles for word in row]
        yield from _laid_out(with_ruled_tables(words, sheet.rules), sheet, 0)


def _running_titles(sheets: Sequence[Sheet], pages: Sequence[list[Row]]) -> set[int]:
    """Return the ids of lines that are running titles or page numbers.

    A running title has the same words at the same place of most pages around; the first is kept. Page numbers count
    with the pages. Both are the outermost lines of a page.
    """
    pages_with: dict[str, set[int]] = defaultdict(set)
    for sheet, rows in zip(sheets, pages, strict=True):
        for row in (*rows[:_EDGE_ROWS], *rows[-_EDGE_ROWS:]):
            pages_with[_title(row, sheet.page)].add(sheet.page)
    titles = set()
    last = sheets[-1].page
    for sheet, rows in zip(sheets, pages, strict=True):
        first_around = max(1, sheet.page - _AROUND)
        last_around = min(last, sheet.page + _AROUND)
        around = range(first_around, last_around + 1)
        for side in (rows, rows[::-1]):
            for row in side[:_EDGE_ROWS]:
                title = _title(row, sheet.page)
                repeats = len(pages_with[title].intersection(around))
                if repeats < _MIN_REPEATS or 2 * repeats <= len(around):
                    break
                if _IS_NUMBER.match(title) or sheet.page > min(pages_with[title]):
                    titles.add(id(row))
    return titles


def _title(row: Row, page: int) -> str:
    """Return the words of a line, with its page number as the difference to the page, and its height."""
    parts = list(map(text_of, chunks_of(row)))
    words = []
    for part in parts:
        number = _PAGE_NUMBER.fullmatch(part)
        offset = int(number[1]) - page if number else 0
        is_number = number and (len(parts) == 1 or abs(offset) <= _MAX_FRONT_PAGES)
        words.append(f"#{offset}" if is_number else part)
    return f"{' '.join(words)} {row[0].base:.0f}"


def _laid_out(
    words: Sequence[Word],
    sheet: Sheet,
    depth: int,
) -> Iterator[Line | Table]:
    """Yield the lines and tables of a page, or of a column of it."""
    rows = rows_of(words)
    start = 0
    column = None
    while start < len(rows):
        sides, end = _side_by_side(rows, start) if depth < _MAX_DEPTH else ([], start)
        if sides:
            for side in sides:
                yield from _laid_out(side, sheet, depth + 1)
            # What follows the columns does not go on with the lines before them.
            column = None
            start = end
            continue
        table, end = aligned_table(rows, start)
        if table:
            yield Table(table, sheet.page)
            start = end
        else:
            column = column or _column(rows, sheet, depth)
            yield Line(rows[start], column)
            start += 1


def _column(rows: Sequence[Row], sheet: Sheet, depth: int) -> Column:
    left = min(row[0].left for row in rows)
    right = right_of(rows)
    if is_prose(rows):
        return Column(sheet.page, depth, left, right)
    # Short lines are not wrapped paragraphs.
    if depth:
        right += (right - left) / 4
    else:
        right = max(right, left + sheet.width / 2)
    return Column(sheet.page, depth, left, right)


def _side_by_side(rows: Sequence[Row], start: int) -> tuple[list[Row], int]:
    """Return the words of the columns that begin at a line, none if there are none, and the line after them."""
    end, columns = band(rows, start, keeps_all=False)
    if len(columns) < 2:
        return [], start
    words = list(chain.from_iterable(rows[start:end]))
    least_height = _MIN_COLUMN * (rows[end - 1][0].base - rows[start][0].base)
    sides = split(words, columns)
    # A table that is wider than its column continues in the blank space beside it.
    high = [column for column, side in zip(columns, sides, strict=True) if side[-1].base - side[0].base > least_height]
    if len(high) > 1 and all(has_paragraph(rows_of(side)) for side in split(words, high)):
        sides = split(words, high)
    # What stands alone between columns, such as a page number, follows them.
    sides.sort(key=lambda side: len(rows_of(side)) < 2)
    lines = [rows_of(side) for side in sides]
    large = [side for side in lines if len(side) > 1]
    shared = sum(map(len, lines)) - (end - start)
    least = min(map(len, lines))
    if len(large) > 1 and (all(map(is_prose, large)) or all(map(has_paragraph, large))):
        return sides, end
    is_apart = least > 1 and shared < 0.6 * least
    return (sides, end) if is_apart else ([], start)
