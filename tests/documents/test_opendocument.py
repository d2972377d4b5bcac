"""OpenDocument texts, built part by part."""

from __future__ import annotations

import zipfile
from io import BytesIO

import pytest

from convqa.documents.blocks import Block, Unreadable
from convqa.documents.opendocument import read_odt

STYLES = '<list-style name="L"><list-level-style-number level="1"/></list-style><list-style name="B"/>'


def text(body, meta="<m/>"):
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("content.xml", f"<c><styles>{STYLES}</styles><body><text>{body}</text></body></c>")
        archive.writestr("meta.xml", meta)
    return stream.getvalue()


def test_paragraphs_read_as_shown():
    body = (
        "<tracked-changes><changed-region><deletion><p>gone</p></deletion></changed-region></tracked-changes>"
        '<h outline-level="2">Fire</h><p>The<s/> <span>kiln</span><tab/>is\n  hot<note><note-citation>1'
        "</note-citation><note-body><p>In August.</p></note-body></note>.<line-break/>Very.<annotation><p>no</p>"
        "</annotation><frame><image/><desc>Plan</desc></frame></p><section><p>In a section.</p></section>"
        "<table-of-content><p>Kiln 3</p></table-of-content>"
    )
    document = read_odt(text(body))
    assert document.blocks == (
        Block("heading", "Fire", 2),
        Block("paragraph", "The kiln is hot (In August.).\nVery."),
        Block("paragraph", "In a section."),
    )


def test_lists_are_numbered_by_their_style():
    lists = "".join(
        f'<list style-name="{style}"><list-item><p>a</p></list-item><list-item><p>b</p></list-item></list>'
        for style in "LB"
    )
    heading = '<list style-name="L"><list-item><h outline-level="1">Fees</h></list-item></list>'
    assert [(block.kind, block.marker, block.text) for block in read_odt(text(lists + heading)).blocks] == [
        ("item", "1.", "a"),
        ("item", "2.", "b"),
        ("item", "", "a"),
        ("item", "", "b"),
        ("heading", "", "Fees"),
    ]


def test_tables_have_headers_and_spans():
    cell = "<table-cell><p>{}</p></table-cell>".format
    header = f"<table-header-rows><table-row>{cell('Who')}{cell('Fee')}</table-row></table-header-rows>"
    spanned = '<table-cell number-rows-spanned="2"><p>Adults</p></table-cell>'
    rows = f"<table-row>{spanned}{cell('4')}</table-row><table-row><covered-table-cell/>{cell('5')}</table-row>"
    blocks = read_odt(text(f"<table><table-column/>{header}{rows}</table>")).blocks
    assert [block.cells for block in blocks] == [("Who", "Fee"), ("Adults", "4"), ("Adults", "5"), ()]
    assert blocks[0].kind == "header"


def test_properties_are_the_meta():
    meta = "<m><title>Lease</title><creator>Bo</creator><date>2026-05-01T10:00:00</date></m>"
    document = read_odt(text("<p>Text.</p>", meta))
    assert (document.title, document.meta) == ("Lease", {"author": "Bo", "date": "2026-05-01"})


def test_an_encrypted_text_says_so():
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("content.xml", bytes(range(128, 256)))
    with pytest.raises(Unreadable, match="encrypted or damaged"):
        read_odt(stream.getvalue())
