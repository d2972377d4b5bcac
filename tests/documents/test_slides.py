"""PowerPoint presentations, built part by part."""

from __future__ import annotations

import zipfile
from io import BytesIO

from convqa.documents.blocks import Block
from convqa.documents.slides import read_pptx
from convqa.documents.text import clean

NAMESPACES = 'xmlns:r="urn:r" xmlns:mc="urn:mc"'


def presentation(*slides, notes="<notes/>", attributes=""):
    """The bytes of a presentation. A slide is the content of its shape tree; the last one has the attributes."""
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        entries = relations = ""
        for number, content in enumerate(slides, start=1):
            entries += f'<sldId id="{255 + number}" r:id="rId{number}"/>'
            relations += f'<Relationship Id="rId{number}" Type="t/slide" Target="slides/slide{number}.xml"/>'
            own = attributes if number == len(slides) else ""
            xml = f"<sld {NAMESPACES} {own}><cSld><spTree>{content}</spTree></cSld></sld>"
            archive.writestr(f"ppt/slides/slide{number}.xml", xml)
        to_notes = '<Relationships><Relationship Id="n" Type="t/notesSlide" Target="../notes.xml"/></Relationships>'
        archive.writestr(f"ppt/slides/_rels/slide{len(slides)}.xml.rels", to_notes)
        archive.writestr("ppt/presentation.xml", f"<p {NAMESPACES}><sldIdLst>{entries}</sldIdLst></p>")
        archive.writestr("ppt/_rels/presentation.xml.rels", f"<Relationships>{relations}</Relationships>")
        archive.writestr("ppt/notes.xml", notes)
        main = '<R><Relationship Type="t/officeDocument" Target="ppt/presentation.xml"/></R>'
        archive.writestr("_rels/.rels", main)
        archive.writestr("ppt/media/image1.png", b"")
        archive.writestr("ppt/charts/chart1.xml", "<c/>")
    return stream.getvalue()


def shape(*paragraphs, kind=""):
    placeholder = f'<ph type="{kind}"/>' if kind else ""
    content = "".join(each if each.startswith("<p>") else f"<p><r><t>{each}</t></r></p>" for each in paragraphs)
    return f"<sp><nvSpPr><nvPr>{placeholder}</nvPr></nvSpPr><txBody>{content}</txBody></sp>"


def test_slides_have_their_title_text_lists_and_notes():
    below = '<p><pPr lvl="1"/><r><t>Under six</t></r></p>'
    body = shape("Children pay half.", below, kind="body")
    slide = body + shape("Entry", "fees", kind="ctrTitle") + shape("7", kind="sldNum")
    notes = f"<notes><cSld>{shape('Dogs stay outside.', kind='body')}{shape('1', kind='sldNum')}</cSld></notes>"
    document = read_pptx(presentation(shape(""), slide, notes=notes))
    assert document.blocks == (
        Block("heading", "Entry fees", page=2),
        Block("item", "Children pay half.", page=2),
        Block("item", "Under six", page=2),
        Block("paragraph", "Dogs stay outside.", page=2),
    )


def test_groups_and_alternatives_are_read_once():
    choices = f"<mc:Choice>{shape('A choice')}</mc:Choice><mc:Fallback>{shape('Else')}</mc:Fallback>"
    group = f"<grpSp>{shape('In a group')}<mc:AlternateContent>{choices}</mc:AlternateContent></grpSp>"
    blocks = read_pptx(presentation(group)).blocks
    assert [block.text for block in blocks] == ["Slide 1", "In a group", "A choice"]


def test_diagrams_are_items():
    data = presentation(shape("Steps", kind="title"), shape(""))
    relation = '<R><Relationship Id="d" Type="t/diagramData" Target="../diagrams/data1.xml"/></R>'
    points = "<d><pt><p><r><t>Empty the </t></r><r><t>tank</t></r></p></pt><pt><p><r><t>Rinse</t></r></p></pt><pt/></d>"
    stream = BytesIO(data)
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr("ppt/slides/_rels/slide1.xml.rels", relation)
        archive.writestr("ppt/diagrams/data1.xml", points)
    assert [block.text for block in read_pptx(stream.getvalue()).blocks] == ["Steps", "Empty the tank", "Rinse"]


def test_tables_have_a_header_row():
    text = "<tc><txBody><p><r><t>{}</t></r></p></txBody></tc>".format
    rows = f"<tr>{text('Tool')}{text('Room')}</tr><tr>{text('Kiln')}{text('Cellar')}</tr>"
    table = f'<graphicFrame><tbl><tblPr firstRow="1"/>{rows}</tbl></graphicFrame>'
    blocks = read_pptx(presentation(shape("Rooms", kind="title") + table)).blocks
    assert [(block.kind, *block.cells) for block in blocks[1:3]] == [
        ("header", "Tool", "Room"),
        ("row", "Kiln", "Cellar"),
    ]


def test_hidden_slides_are_counted():
    document = read_pptx(presentation(shape("Text"), shape("Secret"), attributes='show="0"'))
    assert [block.text for block in document.blocks] == ["Slide 1", "Text"]
    assert document.unread == ("1 hidden slides", "1 images", "1 charts")


def test_merged_cells_belong_to_each_of_their_rows_and_columns():
    def cell(text, attributes=""):
        return f"<tc {attributes}><txBody><p><r><t>{text}</t></r></p></txBody></tc>"

    rows = (
        cell("Who", 'rowSpan="2"') + cell("Week", 'gridSpan="2"') + cell("", 'hMerge="1"'),
        cell("", 'vMerge="1"') + cell("AM") + cell("PM"),
        cell("All") + cell("5") + cell("6"),
    )
    table = "".join(f"<tr>{row}</tr>" for row in rows)
    header, row, _ = read_pptx(presentation(f"<tbl>{table}</tbl>")).blocks[1:]
    assert (header.cells, row.cells) == (("Who", "Week AM", "Week PM"), ("All", "5", "6"))


def test_exponents_are_marked():
    paragraph = '<p><r><t>10</t></r><r><rPr baseline="30000"/><t>6</t></r></p>'
    (block,) = read_pptx(presentation(shape(paragraph))).blocks[1:]
    assert clean(block.text) == "10^6"
