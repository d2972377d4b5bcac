"""Excel workbooks, built part by part, and comma-separated values."""

from __future__ import annotations

import zipfile
from io import BytesIO

import pytest

from convqa.documents import sheets
from convqa.documents.blocks import Block, Unreadable
from convqa.documents.sheets import read_csv, read_xlsx

STYLES = (
    '<s><numFmts><numFmt numFmtId="164" formatCode="0.00 &quot;€&quot;;[Red]-0.00"/>'
    '<numFmt numFmtId="165" formatCode="[$£-809]#,##0.0#"/><numFmt numFmtId="166" formatCode="yyyy\\-mm\\-dd h:mm"/>'
    '<numFmt numFmtId="167" formatCode="[h]:mm:ss"/></numFmts><cellXfs>'
    + "".join(f'<xf numFmtId="{number}"/>' for number in (0, 9, 14, 164, 165, 166, 167, 20, 12))
    + "</cellXfs></s>"
)


def workbook(*tables, extra="", first_part=""):
    """The bytes of a workbook: its sheets as the XML of their rows."""
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        relations = '<Relationship Id="s" Type="t/sharedStrings" Target="/xl/strings.xml"/>'
        relations += '<Relationship Id="f" Type="t/styles" Target="styles.xml"/>'
        entries = ""
        for number, rows in enumerate(tables, start=1):
            state = ' state="hidden"' if rows.startswith("<!--hidden") else ""
            entries += f'<sheet name="Sheet {number}" sheetId="{number}" r:id="r{number}"{state}/>'
            relations += f'<Relationship Id="r{number}" Type="t/worksheet" Target="sheet{number}.xml"/>'
            archive.writestr(f"xl/sheet{number}.xml", f"<w><sheetData>{rows}</sheetData>{extra}</w>")
        archive.writestr("xl/workbook.xml", f'<w xmlns:r="urn:r">{first_part}<sheets>{entries}</sheets></w>')
        archive.writestr("xl/_rels/workbook.xml.rels", f"<Relationships>{relations}</Relationships>")
        strings = (
            '<s xmlns="urn:s"><si><t>Who</t></si><si><r><t>Fe</t></r><r><t>e</t></r><rPh><t>kana</t></rPh></si></s>'
        )
        archive.writestr("xl/strings.xml", strings)
        archive.writestr("xl/styles.xml", STYLES)
    return stream.getvalue()


def rows(*lines, first=1):
    """The XML of rows. A cell is a text, or a number with the index of its style."""
    xml = ""
    for number, line in enumerate(lines, start=first):
        xml += f'<row r="{number}">'
        for letter, value in zip("ABCDEFGH", line, strict=False):
            reference = f'r="{letter}{number}"'
            if isinstance(value, tuple):
                xml += f'<c {reference} s="{value[1]}"><f>A1</f><v>{value[0]}</v></c>'
            elif value:
                xml += f'<c {reference} t="inlineStr"><is><t>{value}</t></is></c>'
        xml += "</row>"
    return xml


def cells_of(*tables, **options):
    return [(block.kind, *block.cells) for block in read_xlsx(workbook(*tables, **options)).blocks if block.cells]


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ('<c r="B1" t="s"><v>1</v></c>', "Fee"),
        ('<c r="B1" t="s"><v>99</v></c>', ""),
        ('<c r="B1" t="b"><v>1</v></c>', "TRUE"),
        ('<c r="B1" t="e"><v>#N/A</v></c>', ""),
        ('<c r="B1" t="str"><f>A1</f><v>text</v></c>', "text"),
        ('<c r="B1"><v>3.0</v></c>', "3"),
        ('<c r="B1"><v>0.30000000000000004</v></c>', "0.3"),
        ('<c r="B1" s="1"><v>0.125</v></c>', "12%"),
        ('<c r="B1" s="2"><v>46143</v></c>', "2026-05-01"),
        ('<c r="B1" s="3"><v>-4.5</v></c>', "-4.50 €"),
        ('<c r="B1" s="4"><v>1234.5</v></c>', "£1,234.5"),
        ('<c r="B1" s="5"><v>46143.75</v></c>', "2026-05-01 18:00"),
        ('<c r="B1" s="6"><v>1.5</v></c>', "36:00"),
        ('<c r="B1" s="7"><v>0.5</v></c>', "12:00"),
        ('<c r="B1" s="8"><v>0.5</v></c>', "0.5"),
        ('<c r="B1" s="99"><v>1</v></c>', "1"),
        ('<c r="B1" s="2"><v>1e300</v></c>', "1e300"),
    ],
)
def test_a_cell_reads_as_shown(cell, shown):
    row = f'<row r="1"><c r="A1" t="inlineStr"><is><t>A</t></is></c>{cell}</row>'
    (block,) = [block for block in read_xlsx(workbook(row)).blocks if block.kind != "heading"]
    assert " ".join(filter(None, (block.text, *block.cells))) == f"A {shown}".strip()


def test_dates_can_count_from_1904():
    table = rows(("Day",), ((44681, 2),))
    assert "2026-05-01" in [
        block.text for block in read_xlsx(workbook(table, first_part='<workbookPr date1904="1"/>')).blocks
    ]


def test_sheets_have_headings_captions_and_header_rows():
    table = rows(("Entry fees 2026",), (), ("Who", "Fee"), ("Adults", (4, 0)), ("", (3, 0)), ("Children", (2, 0)))
    merged = '<mergeCells><mergeCell ref="A4:A5"/></mergeCells>'
    document = read_xlsx(workbook(table, "<!--hidden-->" + table, "", extra=merged))
    assert document.blocks == (
        Block("heading", "Sheet 1"),
        Block("caption", "Entry fees 2026"),
        Block("header", cells=("Who", "Fee")),
        Block("row", cells=("Adults", "4")),
        Block("row", cells=("Adults", "3")),
        Block("row", cells=("Children", "2")),
    )
    assert document.counts == {"sheets": 2}
    assert document.unread == ("1 hidden sheet",)


def test_tables_in_one_sheet_have_their_own_headers():
    second = rows(("Tool", "Room"), ("Kiln", (14, 0)), ("Lathe", (12, 0)), first=5) + rows(("Ask Ann.",), first=9)
    assert cells_of(rows(("Who", "Fee"), ("Adults", (4, 0))) + second) == [
        ("header", "Who", "Fee"),
        ("row", "Adults", "4"),
        ("header", "Tool", "Room"),
        ("row", "Kiln", "14"),
        ("row", "Lathe", "12"),
    ]


def test_a_sheet_is_read_within_limits(monkeypatch):
    monkeypatch.setattr(sheets, "MAX_CELLS", 6)
    far = '<row r="1"><c r="A1" t="str"><v>A</v></c><c r="B1"><v>1</v></c><c r="XFD1"><v>1</v></c></row>'
    far += '<row r="1048576"><c r="A1048576"><v>2</v></c><c r="B1048576"><v>2</v></c></row>'
    document = read_xlsx(workbook(far + rows(("x", "y"), ("z", "z"))))
    assert document.unread == ("the rows after the first 6 cells", "the columns after the first 60")


@pytest.mark.parametrize(
    "text",
    [
        "Who;Fee\nAdults;4,50\nA, B;2,00\n",
        "Who\tFee\r\nAdults\t4,50\r\n\r\nA, B\t2,00",
        'Who, Fee\nAdults, "4,50"\n"A, B", "2,00"',
    ],
)
@pytest.mark.parametrize("charset", ["utf-8", "utf-8-sig", "utf-16"])
def test_values_are_separated_by_what_makes_regular_rows(text, charset):
    document = read_csv(text.encode(charset))
    assert [block.cells for block in document.blocks] == [("Who", "Fee"), ("Adults", "4,50"), ("A, B", "2,00")]
    assert [block.kind for block in document.blocks] == ["header", "row", "row"]
    assert document.counts == {"rows": 3}


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\x00\x01\x02" * 99, b'a,b\n"' + b"x" * 200_000, b"," * 2_000_000])
def test_what_is_no_table_is_unreadable(data):
    with pytest.raises(Unreadable):
        read_csv(data)


def test_an_empty_workbook_is_unreadable():
    with pytest.raises(Unreadable, match="empty"):
        read_xlsx(workbook(""))
