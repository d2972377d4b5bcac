"""Tables in files of their own: Excel workbooks (.xlsx) and comma-separated values (.csv)."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from io import StringIO
from itertools import groupby, islice
from typing import Any

from convqa.documents.archive import Archive, attribute, number, properties
from convqa.documents.blocks import Block, Document, Unreadable
from convqa.documents.numerals import FIRST_DAY, in_format
from convqa.documents.pieces import amounts
from convqa.documents.tables import MAX_COLUMNS, MAX_REPEATED_CHARACTERS, table
from convqa.documents.text import decoded

MAX_CELLS = 200_000
"""Cells of a document that are read."""

_MAX_SHEET_BYTES = 2**24
"""Bytes of a sheet's XML that are read, about 400,000 cells."""
_HEADER_ROWS = 20
"""Rows among which the header row of a table is looked for."""
_SAMPLE_ROWS = 50
"""Rows by which the delimiter of a file is told."""
_MAX_LINE_CHARACTERS = 1_000_000
_DELIMITERS = ",;\t|"
_LETTER = re.compile(r"[^\W\d_]")

_BUILT_IN = {1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 18: "h:mm", 19: "h:mm", 20: "h:mm"}
_BUILT_IN |= {21: "h:mm", 22: "d h:mm", 37: "#,##0", 38: "#,##0", 39: "#,##0.00", 40: "#,##0.00", 45: "h:mm", 46: "[h]"}
_BUILT_IN |= dict.fromkeys((14, 15, 16, 17, *range(27, 37), *range(50, 59)), "d")
"""Number formats of Excel that files do not spell out, by id: ECMA-376, 18.8.30."""


def read_xlsx(data: bytes) -> Document:
    """Read the sheets of a workbook, each with a heading, and its rows with their header row.

    Values read as shown: dates in ISO 8601, numbers in their format, formulas as their last values. Hidden sheets are
    left out.

    :raises Unreadable: if it has no text, is encrypted, damaged or too large, or is of another type.
    """
    archive = Archive(data, "Excel workbook (.xlsx)")
    main = archive.main("xl/workbook.xml")
    relations = archive.relations(main)
    workbook = archive.xml(main)
    parts = dict(relations.values())
    strings = [_text(element) for element in archive.xml(parts.get("sharedStrings", "xl/sharedStrings.xml"))]
    formats = _formats(archive.xml(parts.get("styles", "xl/styles.xml")))
    since_1904 = attribute(workbook.find("{*}workbookPr"), "date1904") in ("1", "true")
    cells = _Cells(strings, formats, datetime(1904, 1, 1) if since_1904 else FIRST_DAY)
    blocks: list[Block] = []
    limits = _Limits()
    hidden = sheets = 0
    for sheet in workbook.iterfind("{*}sheets/{*}sheet"):
        kind, part = relations.get(attribute(sheet, "id"), ("", ""))
        if attribute(sheet, "state", "visible") != "visible":
            hidden += 1
        elif kind == "worksheet":
            sheets += 1
            rows = list(limits.apply(cells.rows(archive.xml(part, _MAX_SHEET_BYTES))))
            if tables := list(sheet_tables(rows)):
                blocks += [Block("heading", attribute(sheet, "name")), *tables]
    unread = (*amounts(hidden_sheets=hidden), *limits.unread(), *archive.losses())
    if not blocks:
        raise Unreadable("its sheets are empty")
    title, meta = properties(archive.xml("docProps/core.xml"))
    return Document(tuple(blocks), title, meta, {"sheets": sheets}, unread)


def read_csv(data: bytes) -> Document:
    """Read a table of values that are separated by commas, semicolons, tabs or bars.

    :raises Unreadable: if it has no text, or is of another type.
    """
    text = decoded(data)
    delimiter = max(_DELIMITERS, key=lambda each: _regularity(text, each))
    limits = _Limits()
    try:
        rows = list(limits.apply(_records(text, delimiter)))
    except csv.Error as error:
        raise Unreadable(f"it is damaged or of another type ({error})") from error
    blocks = tuple(sheet_tables(rows))
    if not blocks:
        raise Unreadable("it has no text")
    return Document(blocks, counts={"rows": sum(map(any, rows))}, unread=tuple(limits.unread()))


class _Limits:
    """Limits of the cells of a document."""

    def __init__(self) -> None:
        self.cells_left = MAX_CELLS
        self.has_more_columns = False

    def apply(self, rows: Iterable[Sequence[str]]) -> Iterator[list[str]]:
        """Yield rows as long as cells are left, with the columns that are read."""
        for row in rows:
            self.cells_left -= sum(map(bool, row))
            if self.cells_left < 0:
                return
            self.has_more_columns = self.has_more_columns or any(row[MAX_COLUMNS:])
            yield [" ".join(cell.split()) for cell in row[:MAX_COLUMNS]]

    def unread(self) -> Iterator[str]:
        if self.cells_left < 0:
            yield f"the rows after the first {MAX_CELLS:,} cells"
        if self.has_more_columns:
            yield f"the columns after the first {MAX_COLUMNS}"


class _Cells:
    """Reads the cells of a workbook.

    :param formats: the number format of each style of cells.
    :param first_day: the day from which dates are counted.
    """

    def __init__(self, strings: list[str], formats: list[str], first_day: datetime) -> None:
        self.strings = strings
        self.formats = formats
        self.first_day = first_day

    def rows(self, sheet: Any) -> Iterator[list[str]]:
        """Yield the rows of a sheet, an empty one where rows are missing.

        The text of cells that are merged downwards is in each of their rows.
        """
        last = 0
        merged = dict(map(_merged, sheet.iterfind("{*}mergeCells/{*}mergeCell")))
        # The texts of the merged cells that go on, and their last rows, by column.
        open_cells: dict[int, tuple[int, str]] = {}
        for row in sheet.iterfind("{*}sheetData/{*}row"):
            index = number(attribute(row, "r"), last + 1)
            if index > last + 1:
                yield []
            last = index
            cells: list[str] = []
            for cell in row:
                reference = attribute(cell, "r")
                # A cell beyond the columns that are read shows only that there are more.
                cells += [""] * (min(_column(reference), MAX_COLUMNS) - len(cells))
                cells.append(self._shown(cell))
                if reference in merged:
                    open_cells[len(cells) - 1] = (merged[reference], cells[-1])
            for column, (end, text) in open_cells.items():
                if index <= end and column < len(cells) and len(text) <= MAX_REPEATED_CHARACTERS:
                    cells[column] = text
            yield cells

    def _shown(self, cell: Any) -> str:
        kind = attribute(cell, "t", "n")
        value: str = cell.findtext("{*}v", "")
        if kind == "s":
            index = number(value, -1)
            return self.strings[index] if 0 <= index < len(self.strings) else ""
        if kind == "inlineStr":
            return _text(cell)
        if kind == "b":
            return "TRUE" if value == "1" else "FALSE"
        if kind != "n":
            return "" if kind == "e" else value
        style = number(attribute(cell, "s"))
        return in_format(value, self.formats[style] if 0 <= style < len(self.formats) else "", self.first_day)


def _merged(element: Any) -> tuple[str, int]:
    """Return the first of merged cells, and their last row."""
    first, _, last = attribute(element, "ref").partition(":")
    return first, number(last.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))


def _column(reference: str) -> int:
    """Return the index of the column of a cell such as "AB12", 0 if there is none."""
    index = 0
    for letter in reference.rstrip("0123456789")[:3].upper():
        index = index * 26 + ord(letter) - ord("A") + 1
    return max(index - 1, 0)


def _text(element: Any) -> str:
    """Return a text without the readings of its characters."""
    return "".join(text.text or "" for text in element.iter("{*}t") if not text.getparent().tag.endswith("}rPh"))


def _formats(styles: Any) -> list[str]:
    codes = {
        attribute(each, "numFmtId"): attribute(each, "formatCode") for each in styles.iterfind("{*}numFmts/{*}numFmt")
    }
    ids = [attribute(each, "numFmtId") for each in styles.iterfind("{*}cellXfs/{*}xf")]
    return [codes.get(each, _BUILT_IN.get(number(each), "")) for each in ids]


def sheet_tables(rows: Iterable[Sequence[str]]) -> Iterator[Block]:
    """Yield the tables of a sheet, between which are empty rows. Lines with one cell are captions or paragraphs.

    The header row is the first one with the most words. A table after it has one only if it looks so.
    """
    has_header = False
    for is_filled, group in groupby(rows, any):
        grid = list(group) if is_filled else []
        while grid and sum(map(bool, grid[0])) == 1 and (len(grid) == 1 or not has_header):
            yield Block("paragraph" if has_header else "caption", "".join(grid.pop(0)))
        words = [sum(bool(_LETTER.search(cell)) for cell in row) for row in grid[:_HEADER_ROWS]]
        header = words.index(max(words)) if words else 0
        if not has_header and max(words, default=0) > 1 and len(grid) > header + 1:
            has_header = True
            yield from table(grid[:header])
            yield from table(grid[header:], 1)
        else:
            yield from table(grid)


def _records(text: str, delimiter: str) -> Iterator[list[str]]:
    return csv.reader(_lines(text), delimiter=delimiter, skipinitialspace=True)


def _lines(text: str) -> Iterator[str]:
    for line in StringIO(text, newline=""):
        if len(line) > _MAX_LINE_CHARACTERS:
            raise csv.Error(f"a line has more than {_MAX_LINE_CHARACTERS:,} characters")
        yield line


def _regularity(text: str, delimiter: str) -> tuple[int, int]:
    """Return in how many rows of the beginning a delimiter makes the same number of cells, and that number."""
    widths: Counter[int] = Counter()
    with suppress(csv.Error):
        widths.update(len(record) for record in islice(_records(text, delimiter), _SAMPLE_ROWS))
    width, count = max(
        ((width, count) for width, count in widths.items() if width > 1), key=lambda each: each[1], default=(0, 0)
    )
    return count, width
