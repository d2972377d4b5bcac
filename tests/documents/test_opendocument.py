"""OpenDocument texts, built part by part."""

from __future__ import annotations

import zipfile
from io import BytesIO

import pytest

from convqa.documents.blocks import Block, Unreadable
from convqa.documents.opendocument import read_odt

LISTS = (
    '<list-style name="L"><list-level-style-number level="1" num-format="1" num-suffix="." start-value="3"/>'
    '<list-level-style-number level="2" num-format="a" num-suffix=")" display-levels="2"/></list-style>'
    '<list-style name="B"><list-level-style-bullet level="1"/></list-style>'
    '<style name="P1" parent-style-name="Title"/><style name="P2" parent-style-name="Caption"/>'
)
OUTLINE = (
    '<outline-style><outline-level-style level="1" num-format="1"/>'
    '<outline-level-style level="2" num-format="1" display-levels="2"/></outline-style>'
)
FOOTER = (
    "<master-styles><master-page><footer><p>Page <page-number>1</page-number></p></footer>"
    "<header><p>Valid</p></header></master-page></master-styles>"
)


def text(body, **parts):
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        content = f"<c><automatic-styles>{LISTS}</automatic-styles><body><text>{body}</text></body></c>"
        archive.writestr("content.xml", content)
        archive.writestr("styles.xml", f"<s>{OUTLINE}{FOOTER}</s>")
        for name, part in parts.items():
            archive.writestr(name.replace("_", "/") + ".xml", part)
    return stream.getvalue()


def blocks_of(body):
    first, *blocks = read_odt(text(body)).blocks
    assert first == Block("paragraph", "Valid")
    return blocks


def test_paragraphs_read_as_shown():
    body = (
        "<tracked-changes><changed-region><deletion><p>gone</p></deletion></changed-region></tracked-changes>"
        '<p style-name="P1">Rules</p><p>The<s/> <span>kiln</span><tab/>is\n  hot.<line-break/>Very.'
        "<note><note-citation>1</note-citation><note-body><p>In August.</p></note-body></note>"
        "<annotation><p>no</p></annotation><frame><text-box><p>In a box.</p></text-box><image/>"
        "<desc>Plan of the cellar</desc></frame>"
        "<soft-page-break/></p><section><p>In a section.</p></section>"
        "<table-of-content><p>Kiln 3</p></table-of-content>"
    )
    document = read_odt(text(body))
    assert document.title == "Rules"
    assert document.blocks[1:] == (
        Block("heading", "Rules"),
        Block("paragraph", "The kiln is hot.\nVery."),
        Block("footnote", "In August."),
        Block("paragraph", "In a box."),
        Block("paragraph", "Plan of the cellar"),
        Block("paragraph", "In a section."),
    )
    assert document.counts == {"footnotes": 1}
    assert document.unread == ("1 image", "1 contents line")


def test_headings_and_items_have_their_numbers():
    body = '<h outline-level="1">Kiln</h><h outline-level="2">Fire</h><h outline-level="2">Glaze</h>'
    body += '<h outline-level="1">Fees</h>'
    inner = "<list><list-item><p>c</p></list-item><list-item><p>d</p></list-item></list>"
    body += f'<list style-name="L"><list-item><p>a</p></list-item><list-item><p>b</p>{inner}</list-item></list>'
    body += '<list style-name="L" continue-numbering="true"><list-item><p>e</p><p>more</p></list-item></list>'
    body += '<list style-name="B"><list-item><p>f</p></list-item></list>'
    assert [(block.kind, block.level, block.marker, block.text) for block in blocks_of(body)] == [
        ("heading", 1, "", "1 Kiln"),
        ("heading", 2, "", "1.1 Fire"),
        ("heading", 2, "", "1.2 Glaze"),
        ("heading", 1, "", "2 Fees"),
        ("item", 1, "3.", "a"),
        ("item", 1, "4.", "b"),
        ("item", 2, "4.a)", "c"),
        ("item", 2, "4.b)", "d"),
        ("item", 1, "5.", "e"),
        ("paragraph", 1, "", "more"),
        ("item", 1, "", "f"),
    ]


def test_tables_have_headers_spans_and_captions():
    cell = "<table-cell><p>{}</p></table-cell>".format
    header = f"<table-header-rows><table-row>{cell('Who')}{cell('Fee')}</table-row></table-header-rows>"
    spanned = '<table-cell number-rows-spanned="2"><p>Adults</p></table-cell>'
    rows = f"<table-row>{spanned}{cell('4')}</table-row><table-row><covered-table-cell/>{cell('5')}</table-row>"
    body = f'<p style-name="P2">Table 1</p><table><table-column/>{header}{rows}</table><p style-name="P2">Figure 1</p>'
    assert blocks_of(body + "<p>End.</p><p style-name='P2'>Figure 2</p>") == [
        Block("caption", "Table 1"),
        Block("header", cells=("Who", "Fee")),
        Block("row", cells=("Adults", "4")),
        Block("row", cells=("Adults", "5")),
        Block("caption", "Figure 1"),
        Block("paragraph", "End."),
        Block("paragraph", "Figure 2"),
    ]


def test_properties_are_the_meta():
    meta = "<m><title>Lease</title><initial-creator>Ann</initial-creator><creator>Bo</creator>"
    meta += "<date>2026-05-01T10:00:00</date></m>"
    document = read_odt(text("<p>Text.</p>", meta=meta))
    assert (document.title, document.meta) == ("Lease", {"author": "Ann", "date": "2026-05-01"})


def test_an_encrypted_text_says_so():
    with pytest.raises(Unreadable, match="encrypted"):
        read_odt(text("<p>Text.</p>", **{"META-INF_manifest": "<m><encryption-data/></m>"}))
