"""Excel workbooks, written by openpyxl, and comma-separated values."""

from __future__ import annotations

from datetime import date, datetime
from io import BytesIO

import pytest

from convqa.documents import sheets
from convqa.documents.blocks import Block
from convqa.documents.sheets import read_csv, read_xlsx

openpyxl = pytest.importorskip("openpyxl")


def workbook(*tables, hidden=()):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for table in (*tables, *hidden):
        sheet = book.create_sheet()
        sheet.sheet_state = "hidden" if table in hidden else "visible"
        for row in table:
            sheet.append(row)
            for cell in sheet[sheet.max_row]:
                if isinstance(cell.value, float):
                    cell.number_format = "0%"
    stream = BytesIO()
    book.save(stream)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (3, "3"),
        (0.125, "12.5%"),
        (date(2026, 5, 1), "2026-05-01"),
        (datetime(2026, 5, 1, 18, 30), "2026-05-01 18:30"),
        ("two\nlines", "two lines"),
        ("#N/A", ""),
    ],
)
def test_a_cell_reads_as_shown(value, shown):
    blocks = read_xlsx(workbook([["Kind", "Value"], ["A", value], ["B", "x"]])).blocks
    assert blocks[2].cells == ("A", shown)


def test_sheets_have_headings_captions_and_header_rows():
    table = [["Entry fees 2026"], [], ["Who", "Fee"], ["Adults", 4], ["Children", 2]]
    document = read_xlsx(workbook(table, [], hidden=[[["Secret"]]]))
    assert document.blocks == (
        Block("heading", "Sheet"),
        Block("caption", "Entry fees 2026"),
        Block("header", cells=("Who", "Fee")),
        Block("row", cells=("Adults", "4")),
        Block("row", cells=("Children", "2")),
        Block("paragraph"),
    )
    assert document.unread == ("the hidden sheet Sheet2",)


def test_tables_below_one_another_keep_their_own_header():
    fees = [["Item", "Day", "Week"], ["Kiln", 4, 9]]
    hours = [["Opening hours"], ["Day", "From", "To"], ["Sunday", "10:00", "16:00"], [], ["Monday", "9:00", "17:00"]]
    blocks = read_xlsx(workbook([*fees, [], *hours, [], ["With VAT."]])).blocks
    assert [(block.kind, block.cells or block.text) for block in blocks[1:]] == [
        ("header", ("Item", "Day", "Week")),
        ("row", ("Kiln", "4", "9")),
        ("paragraph", ""),
        ("caption", "Opening hours"),
        ("header", ("Day", "From", "To")),
        ("row", ("Sunday", "10:00", "16:00")),
        ("row", ("Monday", "9:00", "17:00")),
        ("paragraph", ""),
        ("paragraph", "With VAT."),
    ]


def test_an_empty_row_between_rows_of_words_begins_no_table():
    rows = [["Name", "Work", "House"], ["Ann", "Nurse", "West"], [], ["Bob", "Cook", "East"], ["Cy", "Porter", "East"]]
    blocks = read_xlsx(workbook(rows)).blocks
    assert [block.kind for block in blocks] == ["heading", "header", "row", "row", "row", "paragraph"]


def test_labels_and_values_have_no_header():
    blocks = read_xlsx(workbook([["Address", "1 Mill Lane"], ["Phone", "555 1234"]])).blocks
    assert [block.kind for block in blocks] == ["heading", "row", "row", "paragraph"]


def test_a_sheet_is_read_within_limits(monkeypatch, caplog):
    monkeypatch.setattr(sheets, "MAX_ROWS", 2)
    document = read_xlsx(workbook([["A", *"x" * 70], ["B"], ["C"]]))
    assert document.unread == ("the rows after the first 2",)
    assert caplog.messages == ["the columns of a table after the first 60 are not read"]


@pytest.mark.parametrize(
    "text",
    [
        "Who;Fee\nAdults;4,50\nA, B;2,00\n",
        "Who\tFee\r\nAdults\t4,50\r\n\r\nA, B\t2,00",
        'Who, Fee\nAdults, "4,50"\n"A, B", "2,00"',
    ],
)
def test_values_are_separated_by_what_the_first_line_has_most(text):
    blocks = read_csv(text.encode("utf-8-sig")).blocks
    assert [block.cells for block in blocks[:3]] == [("Who", "Fee"), ("Adults", "4,50"), ("A, B", "2,00")]
    assert [block.kind for block in blocks] == ["header", "row", "row", "paragraph"]


def test_a_first_row_with_numbers_is_no_header():
    assert read_csv(b"Adults;4,50\nChildren;2,00\n").blocks[0].kind == "row"


@pytest.mark.parametrize(
    ("number_format", "shown"),
    [
        ('#,##0.00 "€"', "4.50 €"),
        ("[$€-407] #,##0.00", "4.50 €"),
        ("[$USD] 0.00", "4.50 USD"),
        ('"$"#,##0', "4 $"),
        ('0.0" km"', "4.5 km"),
    ],
)
def test_a_price_keeps_its_currency_and_decimals(number_format, shown):
    book = openpyxl.Workbook()
    book.active.append(["A", 4.5])
    book.active["B1"].number_format = number_format
    stream = BytesIO()
    book.save(stream)
    assert ("A", shown) in [block.cells for block in read_xlsx(stream.getvalue()).blocks]


def test_merged_cells_belong_to_each_of_their_rows_and_columns():
    book = openpyxl.Workbook()
    for row in (["Fees"], ["Who", "Week"], [None, "AM", "PM"], ["All", 5, 6], [None, 7, 8]):
        book.active.append(row)
    for ends in ("A1:C1", "A2:A3", "B2:C2", "A4:A5"):
        book.active.merge_cells(ends)
    stream = BytesIO()
    book.save(stream)
    _, caption, header, *rows, _ = read_xlsx(stream.getvalue()).blocks
    assert (caption.text, header.cells) == ("Fees", ("Who", "Week AM", "Week PM"))
    assert [row.cells for row in rows] == [("All", "5", "6"), ("All", "7", "8")]


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ('id,text\n1,"open\n2,two\n3,three\n', ("3", "three")),
        ("Fees, in euros\nWho;Fee;Day\nAll;5,50;Mon\nKids;2,50;Tue\n", ("Kids", "2,50", "Tue")),
        (f"id,text\n1,{'x' * 200_000}\n", ("1", "x" * 200_000)),
    ],
)
def test_odd_files_keep_their_rows(text, last):
    assert read_csv(text.encode()).blocks[-2].cells == last


def test_a_postal_code_keeps_its_zeros():
    book = openpyxl.Workbook()
    book.active.append(["Leipzig", 4103])
    book.active["B1"].number_format = "00000"
    stream = BytesIO()
    book.save(stream)
    assert ("Leipzig", "04103") in [block.cells for block in read_xlsx(stream.getvalue()).blocks]
