"""PowerPoint presentations, built part by part."""

from __future__ import annotations

import zipfile
from io import BytesIO

import pytest

from convqa.documents.blocks import Block, Unreadable
from convqa.documents.slides import read_pptx

NAMESPACES = 'xmlns:r="urn:r" xmlns:mc="urn:mc"'


def presentation(*slides, parts=None):
    """The bytes of a presentation. A slide is the content of its shape tree, or a pair of that and its attributes."""
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        entries = relations = ""
        for number, slide in enumerate(slides, start=1):
            content, attributes = slide if isinstance(slide, tuple) else (slide, "")
            entries += f'<sldId id="{255 + number}" r:id="rId{number}"/>'
            relations += f'<Relationship Id="rId{number}" Type="t/slide" Target="slides/slide{number}.xml"/>'
            xml = f"<sld {NAMESPACES} {attributes}><cSld><spTree>{content}</spTree></cSld></sld>"
            archive.writestr(f"ppt/slides/slide{number}.xml", xml)
            names = {"notes": "notesSlide", "chart": "chart", "diagram": "diagramData"}
            own = "".join(
                f'<Relationship Id="{name}" Type="t/{kind}" Target="../{name}.xml"/>' for name, kind in names.items()
            )
            archive.writestr(f"ppt/slides/_rels/slide{number}.xml.rels", f"<Relationships>{own}</Relationships>")
        archive.writestr("ppt/presentation.xml", f"<p {NAMESPACES}><sldIdLst>{entries}</sldIdLst></p>")
        archive.writestr("ppt/_rels/presentation.xml.rels", f"<Relationships>{relations}</Relationships>")
        for name, content in (parts or {}).items():
            archive.writestr(f"ppt/{name}.xml", content)
    return stream.getvalue()


def shape(*paragraphs, kind=""):
    placeholder = f'<ph type="{kind}"/>' if kind else ""
    content = "".join(each if each.startswith("<p>") else f"<p><r><t>{each}</t></r></p>" for each in paragraphs)
    return f"<sp><nvSpPr><nvPr>{placeholder}</nvPr></nvSpPr><txBody>{content}</txBody></sp>"


def test_slides_have_their_title_text_lists_and_notes():
    numbered = '<p><pPr lvl="1"><buAutoNum type="alphaLcParenR" startAt="2"/></pPr><r><t>{}</t></r></p>'
    body = shape("Children pay half.", numbered.format("Under six"), numbered.format("Under three"), kind="body")
    slide = body + shape("Entry", "fees", kind="ctrTitle") + shape("7", kind="sldNum")
    notes = f"<notes><cSld>{shape('Dogs stay outside.', kind='body')}{shape('1', kind='sldNum')}</cSld></notes>"
    document = read_pptx(presentation("", slide, parts={"notes": notes}))
    assert document.blocks[2:] == (
        Block("heading", "Entry fees", page=2),
        Block("item", "Children pay half.", page=2),
        Block("item", "Under six", 2, "b)", page=2),
        Block("item", "Under three", 2, "c)", page=2),
        Block("paragraph", "Dogs stay outside.", page=2),
    )
    assert document.counts == {"slides": 2}


def test_groups_alternatives_and_diagrams_are_read_once():
    alternative = (
        f"<mc:AlternateContent><mc:Choice>{shape('A choice')}</mc:Choice><mc:Fallback>{shape('Else')}</mc:Fallback>"
    )
    group = f"<grpSp>{shape('In a group')}{alternative}</mc:AlternateContent></grpSp>"
    diagram = "<d><ptLst><pt><t><p><r><t>In a diagram</t></r></p></t></pt></ptLst></d>"
    footer = shape("Tool library", kind="ftr")
    slide = group + '<graphicFrame><relIds r:dm="diagram"/></graphicFrame>' + footer
    blocks = read_pptx(presentation(slide, footer, parts={"diagram": diagram})).blocks
    assert [block.text for block in blocks] == ["Slide 1", "In a group", "A choice", "In a diagram", "Tool library"]


def test_tables_and_charts_are_tables():
    cells = '<tr><tc rowSpan="2">{0}</tc><tc>{1}</tc></tr><tr><tc vMerge="1">{2}</tc><tc>{3}</tc></tr>'
    text = "<txBody><p><r><t>{}</t></r></p></txBody>".format
    table = '<tbl><tblPr firstRow="1"/><tr><tc>' + text("Tool") + "</tc><tc>" + text("Room") + "</tc></tr>"
    table += cells.format(text("Kiln"), text("12"), "", text("14")) + "</tbl>"
    points = (
        '<{0}><cache><formatCode>0%</formatCode><pt idx="0"><v>{1}</v></pt><pt idx="1"><v>{2}</v></pt></cache></{0}>'
    )
    series = '<ser><tx><pt idx="0"><v>Members</v></pt></tx>' + points.format("cat", "May", "June")
    chart = f"<c><chart><plotArea>{series}{points.format('val', '.5', '1')}</ser></plotArea></chart></c>"
    slide = f'<graphicFrame>{table}</graphicFrame><graphicFrame><chart r:id="chart"/></graphicFrame>'
    document = read_pptx(presentation(shape("Rooms", kind="title") + slide, parts={"chart": chart}))
    assert [block.cells or block.text for block in document.blocks[1:]] == [
        ("Tool", "Room"),
        ("Kiln", "12"),
        ("Kiln", "14"),
        "Members",
        ("May", "50%"),
        ("June", "100%"),
    ]
    assert document.counts == {"slides": 1, "tables": 1, "charts": 1}


def test_hidden_slides_and_images_are_counted():
    document = read_pptx(presentation(shape("Text") + '<pic><blip r:embed="x"/></pic>', (shape("Secret"), 'show="0"')))
    assert [block.text for block in document.blocks] == ["Slide 1", "Text"]
    assert document.unread == ("1 image", "1 hidden slide")


def test_a_presentation_without_text_says_so():
    with pytest.raises(Unreadable, match="not read: 1 image"):
        read_pptx(presentation('<pic><blip r:embed="x"/></pic>'))
