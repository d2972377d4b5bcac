"""Tables in files of their own: Excel workbooks (.xlsx) and comma-separated values (.csv)."""

from __future__ import annotations

import csv
import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from io import BytesIO, StringIO
from itertools import groupby
from statistics import median
from typing import Any

from openpyxl import load_workbook
from openpyxl.utils import range_boundaries

from convqa.documents.archive import Archive, properties
from convqa.documents.blocks import Block, Document
from convqa.documents.child import MAX_CHARS
from convqa.documents.tables import MAX_COLUMNS, table
from convqa.documents.text import decoded

MAX_ROWS = 20_000
"""Rows of a sheet that are read."""
_NUMBER = re.compile(r"[\W\d]+")
"""A cell that is not in a header row, if it is not a year."""
_HAS_DIGIT = re.compile(r"(?!(?:19|20)\d\d$).*\d.*")
_UNIT = re.compile(r'"([^"]*)"|\\(.)')
"""A text in a number format, such as ``0.0" km"``."""
_CURRENCY = re.compile(r"[€£¥]|(?<=\[\$)[A-Z]{3}|\$(?![-€£¥A-Z])")
"""In a number format, such as ``[$€-407] #,##0.00``, where ``$`` may only begin a currency."""
_DECIMALS = re.compile(r"(?<=0\.)0+")
_DELIMITERS = ";\t|,"
"""The comma is tried last, because numbers contain it too."""
_LEADING_ZEROS = re.compile("0{2,}")
"""The number format of postal codes and the like."""
_MERGED = re.compile('mergeCell [^>]*?ref="([A-Z]+[0-9]+:[A-Z]+[0-9]+)"')


def read_xlsx(data: bytes) -> Document:
    """Read the sheets of a workbook, each with a heading, and its rows with their header row.

    Dates are in ISO 8601, and formulas read as their last values. Hidden sheets are left out.

    :raises Unreadable: if it is encrypted.
    """
    archive = Archive(data)
    # It warns of extensions that are not read.
    warnings.filterwarnings("ignore", module="openpyxl")
    workbook = load_workbook(BytesIO(data), read_only=True, data_only=True)
    blocks: list[Block] = []
    unread = list(archive.not_read())
    main = archive.main()
    relations = archive.relations(main)
    parts = {entry.get("name"): relations.get(entry.get("id"), ("", "")) for entry in archive.xml(main).iter("sheet")}
    for sheet in workbook.worksheets:
        if sheet.sheet_state != "visible":
            unread.append(f"the hidden sheet {sheet.title}")
            continue
        cells = sheet.iter_rows(max_col=MAX_COLUMNS + 1)
        rows = ([_shown(cell) for cell in row] for row in cells)
        _, part = parts[sheet.title]
        merged = _MERGED.findall(archive.read(part).decode("ascii", "ignore"))
        content = _tables(_with_merged(rows, merged), unread)
        if content:
            blocks += [Block("heading", sheet.title), *content]
    title, meta = properties(archive.xml("docProps/core.xml"))
    return Document(tuple(blocks), title, meta, tuple(unread))


def _with_merged(rows: Iterable[list[str]], ranges: Iterable[str]) -> Iterator[list[str]]:
    """Yield rows with the text of merged cells, such as "A1:C1", in each of their rows and columns."""
    merged = defaultdict(list)
    for left, top, right, bottom in map(range_boundaries, ranges):
        merged[top].append((slice(left - 1, right), bottom))
    going_on: list[tuple[slice, int, str]] = []
    for number, row in enumerate(rows, 1):
        going_on = [cells for cells in going_on if cells[1] >= number]
        going_on += [
            (columns, bottom, row[columns.start]) for columns, bottom in merged[number] if columns.start < len(row)
        ]
        for columns, _, text in going_on:
            row[columns] = [text] * len(row[columns])
        is_alone = len(going_on) == 1 and set(row) <= {"", text}
        yield [text] if is_alone else row


def read_csv(data: bytes) -> Document:
    """Read a table of values that are separated by commas, semicolons, tabs or bars."""
    text = decoded(data)
    lines = text.lstrip().split("\n", 20)[:20]
    delimiter = max(_DELIMITERS, key=lambda sign: median(line.count(sign) for line in lines))
    csv.field_size_limit(MAX_CHARS)
    reader = csv.reader(
        StringIO(text),
        delimiter=delimiter,
        skipinitialspace=True,
        # A quotation mark that nothing closes is a letter.
        quoting=csv.QUOTE_NONE if text.count('"') % 2 else csv.QUOTE_MINIMAL,
    )
    rows = ([" ".join(cell.split()) for cell in row] for row in reader)
    unread: list[str] = []
    blocks = _tables(rows, unread)
    return Document(tuple(blocks), unread=tuple(unread))


def _tables(rows: Iterable[Sequence[str]], unread: list[str]) -> list[Block]:
    """Return the blocks of a sheet, and add what is beyond the limits to ``unread``."""
    groups = [list(group) for is_filled, group in groupby(_limited(rows, unread), any) if is_filled]
    blocks: list[Block] = []
    for group in _joined(groups):
        if len(group) == 1 and len(_filled(group[0])) == 1:
            blocks.append(Block("paragraph", _filled(group[0])[0]))
        else:
            blocks += table(group, headers=int(_is_header(group[0])))
    return blocks


def _limited(rows: Iterable[Sequence[str]], unread: list[str]) -> Iterator[Sequence[str]]:
    count = 0
    for row in rows:
        count += any(row)
        if count > MAX_ROWS:
            unread.append(f"the rows after the first {MAX_ROWS:,}")
            break
        yield row


def _joined(groups: Iterable[list[Sequence[str]]]) -> list[list[Sequence[str]]]:
    """Join the rows between empty rows to tables. One begins with a title, or a header row above numbers."""
    tables: list[list[Sequence[str]]] = []
    for group in groups:
        has_numbers = any(_HAS_DIGIT.fullmatch(cell) for row in group[1:] for cell in row)
        begins = len(_filled(group[0])) == 1 or (has_numbers and _is_header(group[0]))
        is_titled = tables and len(tables[-1]) == 1 and len(_filled(tables[-1][0])) == 1 and len(group) > 1
        if tables and (is_titled or not begins):
            tables[-1] += group
        else:
            tables.append(group)
    return tables


def _filled(row: Sequence[str]) -> list[str]:
    return [cell for cell in row if cell]


def _is_header(row: Sequence[str]) -> bool:
    """Return whether a row has names of columns: no number and, of two cells, no digit."""
    cells = _filled(row)
    is_number = _NUMBER if len(cells) > 2 else _HAS_DIGIT
    return len(cells) > 1 and not any(map(is_number.fullmatch, cells))


def _shown(cell: Any) -> str:
    value = cell.value
    if value is None or cell.data_type == "e":
        return ""
    if isinstance(value, datetime):
        return value.isoformat(" ", "minutes").removesuffix(" 00:00")
    if cell.data_type == "n" and "%" in cell.number_format:
        return f"{round(value * 100, 2):.15g}%"
    currency = _CURRENCY.search(cell.number_format)
    if cell.data_type == "n" and currency:
        decimals = _DECIMALS.search(cell.number_format)
        return f"{value:.{len(decimals[0]) if decimals else 0}f} {currency[0]}"
    unit = "".join(map("".join, _UNIT.findall(cell.number_format))) if cell.data_type == "n" else ""
    if isinstance(value, int) and _LEADING_ZEROS.fullmatch(cell.number_format):
        return str(value).zfill(len(cell.number_format))
    if isinstance(value, float):
        value = f"{value:.15g}"
    if unit.strip():
        return f"{value} {unit.strip()}"
    return " ".join(str(value).split())
