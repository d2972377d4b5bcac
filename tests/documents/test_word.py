"""Word documents, built part by part."""

from __future__ import annotations

import zipfile
from io import BytesIO

import pytest

from convqa.documents.blocks import Block, Unreadable
from convqa.documents.layout import laid_out
from convqa.documents.word import read_docx
from convqa.text.units import units_of_parts

MAIN = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"
MAIN_RELATION = '<R><Relationship Type="http://x/officeDocument" Target="word/document.xml"/></R>'
NAMESPACES = (
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:v="urn:schemas-microsoft-com:vml" xmlns:wp="urn:wp" xmlns:a="urn:a"'
)
STYLES = """
<w:style w:type="paragraph" w:default="1" w:styleId="Standard"><w:name w:val="Normal"/></w:style>
<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
<w:style w:type="paragraph" w:styleId="Clause"><w:name w:val="Clause"/><w:basedOn w:val="berschrift1"/>
  <w:pPr><w:numPr><w:numId w:val="3"/></w:numPr><w:outlineLvl w:val="1"/></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Titel"><w:name w:val="Title"/></w:style>
<w:style w:type="paragraph" w:styleId="Beschriftung"><w:name w:val="caption"/></w:style>
<w:style w:type="paragraph" w:styleId="Verzeichnis1"><w:name w:val="toc 1"/></w:style>
"""
LEVEL = '<w:lvl w:ilvl="{}"><w:start w:val="1"/><w:numFmt w:val="{}"/><w:lvlText w:val="{}"/>{}</w:lvl>'
NUMBERING = (
    '<w:abstractNum w:abstractNumId="0">'
    + LEVEL.format(0, "decimal", "%1.", "")
    + LEVEL.format(1, "lowerLetter", "%2)", "")
    + LEVEL.format(2, "decimal", "%1.%2.%3", "<w:isLgl/>")
    + '</w:abstractNum><w:abstractNum w:abstractNumId="1">'
    + LEVEL.format(0, "bullet", "\uf0b7", "")
    + '</w:abstractNum><w:abstractNum w:abstractNumId="2">'
    + LEVEL.format(0, "upperRoman", "Article %1", "")
    + LEVEL.format(1, "decimal", "§ %2", '<w:pStyle w:val="Clause"/>')
    + '</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    '<w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num><w:num w:numId="3"><w:abstractNumId w:val="2"/></w:num>'
    '<w:num w:numId="4"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/>'
    "</w:lvlOverride></w:num>"
)


def word(body, relations="", namespace=MAIN, **parts):
    """The bytes of a document. Other parts are given as name=(root, content)."""
    stream = BytesIO()
    all_parts = {"document": ("document", f"<w:body>{body}</w:body>"), "styles": ("styles", STYLES)}
    all_parts |= {"numbering": ("numbering", NUMBERING), **parts}
    for name, (root, _) in all_parts.items():
        kind = root.replace("hdr", "header").replace("ftr", "footer")
        relations += f'<Relationship Id="{name}" Type="http://x/{kind}" Target="{name}.xml"/>'
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (root, content) in all_parts.items():
            archive.writestr(f"word/{name}.xml", f'<w:{root} xmlns:w="{namespace}" {NAMESPACES}>{content}</w:{root}>')
        archive.writestr("word/_rels/document.xml.rels", f"<Relationships>{relations}</Relationships>")
        archive.writestr("_rels/.rels", MAIN_RELATION)
    return stream.getvalue()


def run(text, properties=""):
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(text, style="", properties=""):
    content = text if text.startswith("<") else run(text)
    return f'<w:p><w:pPr><w:pStyle w:val="{style}"/>{properties}</w:pPr>{content}</w:p>'


def item(text, num_id, level=0):
    return paragraph(text, "", f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{num_id}"/></w:numPr>')


def cell(text, properties=""):
    content = text if text.startswith("<w:p>") or text.startswith("<w:tbl>") else paragraph(text or "<w:r/>")
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{content}</w:tc>"


def row(*cells, properties=""):
    content = "".join(each if each.startswith("<w:tc>") else cell(each) for each in cells)
    return f"<w:tr><w:trPr>{properties}</w:trPr>{content}</w:tr>"


def grid(*rows, properties=""):
    return f"<w:tbl><w:tblPr>{properties}</w:tblPr>{''.join(rows)}</w:tbl>"


def blocks_of(body, **options):
    return read_docx(word(body, **options)).blocks


def text_of(content):
    (block,) = blocks_of(f"<w:p>{content}</w:p>")
    return block.text


def cells_of(body):
    return [(block.kind, *block.cells) for block in blocks_of(body) if block.cells]


DELETED = "<w:del><w:r><w:delText>30</w:delText></w:r></w:del>"
FIELD = (
    '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>IF </w:instrText></w:r>{code}'
    '<w:r><w:fldChar w:fldCharType="separate"/></w:r>{result}<w:r><w:fldChar w:fldCharType="end"/></w:r>'
)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (run("It is ") + DELETED + f"<w:ins>{run('35')}</w:ins>" + run(" euros."), "It is 35 euros."),
        (f"<w:moveFrom>{run('Gone. ')}</w:moveFrom><w:moveTo>{run('Here.')}</w:moveTo>", "Here."),
        (f"<w:sdt><w:sdtPr/><w:sdtContent>{run('30 June')}</w:sdtContent></w:sdt>", "30 June"),
        (f"<w:smartTag><w:customXml>{run('Ghent')}</w:customXml></w:smartTag>", "Ghent"),
        (f'<w:fldSimple w:instr="DATE">{run("1 May")}</w:fldSimple>', "1 May"),
        (FIELD.format(code="", result=run("shown")) + run("."), "shown."),
        (f'<w:hyperlink r:id="rId9">{run("the rules")}</w:hyperlink>', "the rules"),
        ("<m:oMath><m:r><m:t>E=m</m:t></m:r></m:oMath>", "E=m"),
        ("<m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f>", "1/2"),
        (run("seen") + run(" secret", "<w:vanish/>") + run(" too", '<w:vanish w:val="0"/>'), "seen too"),
        ("<w:r><w:t>T</w:t><w:noBreakHyphen/><w:t>shirt</w:t><w:tab/><w:t>1</w:t></w:r>", "T-shirt 1"),
        ('<w:r><w:t>one</w:t><w:br/><w:t>two </w:t><w:br w:type="page"/><w:t>three</w:t></w:r>', "one\ntwo three"),
        ("<w:r><w:t>built in </w:t><w:lastRenderedPageBreak/><w:t>1903</w:t></w:r>", "built in 1903"),
        (
            "<w:ruby><w:rt><w:r><w:t>kana</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>漢</w:t></w:r></w:rubyBase></w:ruby>",
            "漢",
        ),
    ],
)
def test_a_paragraph_reads_as_word_shows_it(content, text):
    assert text_of(content) == text


def test_a_paragraph_whose_end_is_deleted_goes_on_in_the_next():
    first = paragraph("The kiln is ", properties="<w:rPr><w:del/></w:rPr>")
    assert blocks_of(first + paragraph("hot.")) == (Block("paragraph", "The kiln is hot."),)


def test_text_in_controls_and_inserted_blocks_is_read():
    control = f"<w:sdt><w:sdtPr/><w:sdtContent>{paragraph('In a control.')}</w:sdtContent></w:sdt>"
    inserted = f"<w:ins>{paragraph('Inserted.')}</w:ins><w:moveFrom>{paragraph('Moved.')}</w:moveFrom>"
    assert [block.text for block in blocks_of(control + inserted)] == ["In a control.", "Inserted."]


def test_a_text_box_is_read_once_after_its_paragraph():
    box = f"<w:txbxContent>{paragraph('In the box.')}</w:txbxContent>"
    drawing = f"<mc:AlternateContent><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent>"
    texts = [block.text for block in blocks_of(f"<w:p><w:r>{drawing}</w:r>{run('Before.')}</w:p>")]
    assert texts == ["Before.", "In the box."]


def test_headings_by_style_level_and_title():
    body = paragraph("Rules", "Titel") + paragraph("Kiln", "berschrift1") + paragraph("Firing", "Clause")
    body += paragraph("Glaze", "", '<w:outlineLvl w:val="2"/>') + paragraph(
        "Text.", "Clause", '<w:outlineLvl w:val="9"/>'
    )
    document = read_docx(word(body + paragraph("Kiln\t3", "Verzeichnis1")))
    assert document.title == "Rules"
    assert [(block.kind, block.level, block.marker, block.text) for block in document.blocks] == [
        ("heading", 1, "", "Rules"),
        ("heading", 1, "", "Kiln"),
        ("heading", 2, "", "§ 1 Firing"),
        ("heading", 3, "", "Glaze"),
        ("item", 1, "§ 2", "Text."),
    ]


def test_a_clause_in_the_style_of_a_heading_is_an_item():
    clause = "The tenant pays the rent on the first working day of each month in advance."
    assert blocks_of(paragraph(clause, "Clause")) == (Block("item", clause, marker="§ 1"),)


def test_items_have_the_numbers_that_word_shows():
    body = item("a", 1) + item("b", 1) + item("c", 1, 1) + item("d", 1, 1) + item("e", 1, 2) + item("f", 1)
    body += item("g", 1, 1) + item("h", 2) + item("i", 4) + item("j", 4) + item("k", 3) + item("l", 9)
    assert [(block.kind, block.marker) for block in blocks_of(body)] == [
        ("item", "1."),
        ("item", "2."),
        ("item", "a)"),
        ("item", "b)"),
        ("item", "2.2.1"),
        ("item", "3."),
        ("item", "a)"),
        ("item", ""),
        ("item", "5."),
        ("item", "6."),
        ("item", "Article I"),
        ("paragraph", ""),
    ]


def test_a_table_has_its_header_spans_and_caption():
    body = paragraph("Table 1: Fees", "Beschriftung") + grid(
        row("Who", cell("Fee", '<w:gridSpan w:val="2"/>'), properties="<w:tblHeader/>"),
        row("", "Day", "Week", properties="<w:tblHeader/>"),
        row(cell("Adults", '<w:vMerge w:val="restart"/>'), "€4", "€20"),
        row(cell("", "<w:vMerge/>"), "€5", "€25"),
        row(cell("Closed in May", '<w:gridSpan w:val="3"/>')),
        row("Deleted", "1", "2", properties="<w:del/>"),
    )
    assert blocks_of(body) == (
        Block("caption", "Table 1: Fees"),
        Block("header", cells=("Who", "Fee Day", "Fee Week")),
        Block("row", cells=("Adults", "€4", "€20")),
        Block("row", cells=("Adults", "€5", "€25")),
        Block("row", cells=("Closed in May", "", "")),
        Block("paragraph"),
    )


def test_a_header_over_two_columns_is_the_header_of_both():
    first = row("Who", cell("Fee", '<w:gridSpan w:val="2"/>'))
    assert cells_of(grid(first, row("Adults", "4", "5"), row("Children", "2", "3"))) == [
        ("header", "Who", "Fee", "Fee"),
        ("row", "Adults", "4", "5"),
        ("row", "Children", "2", "3"),
    ]


def test_a_title_row_is_the_caption():
    first = row(cell("Entry fees", '<w:gridSpan w:val="2"/>'))
    blocks = blocks_of(grid(first, row("Who", "Fee"), row("Adults", "4")))
    assert [(block.kind, block.cells or block.text) for block in blocks] == [
        ("caption", "Entry fees"),
        ("header", ("Who", "Fee")),
        ("row", ("Adults", "4")),
        ("paragraph", ""),
    ]


BOLD = row(cell(paragraph(run("Tool", "<w:b/>"))), cell(paragraph(run("Place", "<w:b/>"))))


@pytest.mark.parametrize(
    ("table", "has_header"),
    [
        (grid(BOLD, row("Lathe", "Cellar")), True),
        (grid(row("Tenant", "Ann"), row("Place", "Ghent")), False),
        (grid(row("Tool", "Price"), row("Lathe", "€4"), row("Kiln", "€5")), True),
        (grid(row("Tool", "2026"), row("Lathe", "4"), row("Kiln", "5")), True),
        (grid(row("Lathe", "€4"), row("Kiln", "€5")), False),
        (grid(row("Tool", "Place", "Keeper"), row("Lathe", "Cellar", "Ann")), True),
    ],
)
def test_a_header_row_is_bold_or_has_words_above_numbers(table, has_header):
    assert (cells_of(table)[0][0] == "header") == has_header


def test_an_inner_table_stands_in_its_cell():
    inner = grid(row("Lathe", "12"), row("Kiln", "14"))
    table = grid(row("Floor", "Rooms"), row("Cellar", cell(inner + "<w:p/>")), row("Attic", "1"))
    assert cells_of(table)[1:] == [("row", "Cellar", "Lathe 12; Kiln 14"), ("row", "Attic", "1")]


def test_a_table_that_places_text_is_read_as_text():
    box = grid(row(cell(paragraph("Terms", "berschrift1") + item("Pay.", 1))))
    columns = grid(row(cell(paragraph("One.") + paragraph("Two.")), "Three."))
    kinds = [block.kind for block in blocks_of(box + columns)]
    assert kinds == ["heading", "item", "paragraph", "paragraph", "paragraph"]


def test_a_table_does_not_take_the_header_of_the_one_before():
    first = grid(row("Tool", "Price"), row("Lathe", "4"), row("Kiln", "5"))
    second = grid(row("Ann", "Ghent"), row("Bo", "Rome"))
    laid = laid_out(blocks_of(first + "<w:p/>" + second))
    units = units_of_parts(laid.text, laid.parts, "en")
    assert [unit.context for unit in units if unit.kind == "row"] == ["| Tool | Price |"] * 2 + [""] * 2
    assert "| Kiln | 5 |\n\n| Ann | Ghent |" in laid.text


def test_odd_grids_are_read_within_bounds():
    wide = row(cell("A", '<w:gridSpan w:val="99999"/>'), "B")
    odd = row(cell("", "<w:vMerge/>"), cell("y", '<w:gridSpan w:val="z"/>'))
    _, *second = cells_of(grid(wide, odd))
    assert second == [("row", "A", "y", "")]


def test_notes_follow_their_paragraph():
    note = f'<w:footnote w:id="2">{paragraph("Twice in August.")}</w:footnote>'
    reference = '<w:r><w:footnoteReference w:id="2"/><w:commentReference w:id="1"/></w:r>'
    body = paragraph(run("Weekly.") + reference) + paragraph("Next.")
    comments = ("comments", "<w:comment/>")
    document = read_docx(word(body, footnotes=("footnotes", note), comments=comments))
    assert document.blocks == (
        Block("paragraph", "Weekly."),
        Block("footnote", "Twice in August."),
        Block("paragraph", "Next."),
    )


def test_headers_and_footers_are_read_once_without_page_numbers():
    number = paragraph(run("Page ") + f'<w:fldSimple w:instr=" PAGE ">{run("2")}</w:fldSimple>')
    header = ("hdr", paragraph("Valid from May"))
    data = word(paragraph("Text."), header1=header, header2=header, footer1=("ftr", number))
    assert [block.text for block in read_docx(data).blocks] == ["Valid from May", "Text."]


def test_strict_documents_and_broken_relations_are_read():
    relations = (
        '<Relationship Id="1" Type="t/image" Target="NULL"/><Relationship Id="2" Target="#_top"/><Relationship/>'
    )
    assert read_docx(word(paragraph("Text."), relations, STRICT)).blocks == (Block("paragraph", "Text."),)


@pytest.mark.parametrize(
    ("modified", "meta"), [("2013-12-23T23:15:00Z", {}), ("2025-03-01T10:00:00Z", {"date": "2025-03-01"})]
)
def test_the_date_of_a_template_is_none(modified, meta):
    stream = BytesIO(word(paragraph("Text.")))
    with zipfile.ZipFile(stream, "a") as archive:
        created = '<c xmlns:t="t"><t:created>2013-12-23T23:15:00Z</t:created>'
        archive.writestr("docProps/core.xml", f"{created}<t:modified>{modified}</t:modified></c>")
    assert read_docx(stream.getvalue()).meta == meta


def test_properties_are_the_meta():
    stream = BytesIO(word(paragraph("Text.")))
    with zipfile.ZipFile(stream, "a") as archive:
        properties = (
            '<c xmlns:d="d" xmlns:t="t"><d:title>Lease</d:title><d:creator>Ann</d:creator><t:keywords>rent</t:keywords>'
            "<t:created>2025-01-02T03:04:05Z</t:created><t:modified>2026-05-01T10:00:00Z</t:modified>"
            "<t:version>3</t:version></c>"
        )
        archive.writestr("docProps/core.xml", properties)
    document = read_docx(stream.getvalue())
    assert document.title == "Lease"
    assert document.meta == {"date": "2026-05-01", "author": "Ann", "version": "3", "keywords": "rent"}


def test_a_damaged_part_is_read_as_far_as_possible(caplog):
    data = word(paragraph("First.") + "<w:p><w:r><w:t>Second")
    assert [block.text for block in read_docx(data).blocks] == ["First.", "Second"]
    assert "its part word/document.xml is damaged" in caplog.text


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 99, "encrypted or in a format of before 2007"),
    ],
)
def test_an_unreadable_document_says_why(data, reason):
    with pytest.raises(Unreadable, match=reason):
        read_docx(data)


def test_entities_are_not_expanded():
    stream = BytesIO()
    bomb = '<!DOCTYPE w [<!ENTITY a "aaaaaaaaaa">]><document><p><r><t>b&a;</t></r></p></document>'
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("word/document.xml", bomb)
        archive.writestr("_rels/.rels", MAIN_RELATION)
    assert read_docx(stream.getvalue()).blocks == (Block("paragraph", "b"),)


def test_exponents_and_marks_of_footnotes_are_no_digits():
    raised = run("6", '<w:vertAlign w:val="superscript"/>')
    assert text_of(f"{run('10')}{raised}{run(' m')}{raised}") == "10^6 m6"


def test_only_the_first_title_is_a_heading():
    body = paragraph("Lease", "Titel") + paragraph("Ann Smith", "Titel")
    assert [block.kind for block in blocks_of(body)] == ["heading", "paragraph"]


def test_a_cell_over_columns_belongs_to_each_and_over_all_is_the_caption_of_the_rows_below():
    wide = '<w:gridSpan w:val="2"/>'
    rows = (
        row("", "Day", "Week"),
        row("Adults", cell("€4", wide)),
        row(cell("Winter", '<w:gridSpan w:val="3"/>')),
        row("Adults", "€3", "€9"),
    )
    assert cells_of(grid(*rows)) == [
        ("header", "", "Day", "Week"),
        ("row", "Adults", "€4", "€4"),
        ("header", "", "Day", "Week"),
        ("row", "Adults", "€3", "€9"),
    ]
