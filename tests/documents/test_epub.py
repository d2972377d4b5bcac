"""Electronic books: the order of their chapters."""

from __future__ import annotations

import zipfile
from io import BytesIO

import pytest

from convqa.documents.blocks import Unreadable
from convqa.documents.epub import read_epub

PACKAGE = (
    '<package xmlns:dc="urn:dc"><metadata><dc:title>Kilns</dc:title><dc:creator>Ann</dc:creator>'
    '<dc:language>en</dc:language></metadata><manifest><item id="b" href="two%20b.xhtml"/>'
    '<item id="a" href="a.xhtml"/><item id="c" href="cover.xhtml"/>'
    '<item id="n" href="nav.xhtml" properties="nav"/></manifest><spine><itemref idref="c"/><itemref idref="n"/>'
    '<itemref idref="a"/><itemref idref="missing"/><itemref idref="b"/></spine></package>'
)


def book(**parts):
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        container = '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
        archive.writestr("META-INF/container.xml", container)
        archive.writestr("OEBPS/book.opf", PACKAGE)
        page = '<html xmlns="http://www.w3.org/1999/xhtml"><body>{}</body></html>'
        archive.writestr("OEBPS/a.xhtml", page.format("<h1>One</h1><p>The kiln is hot.</p>"))
        archive.writestr("OEBPS/two b.xhtml", page.format("<h1>Two</h1><p>The lathe is loud.</p>"))
        archive.writestr("OEBPS/nav.xhtml", page.format("<p>Contents</p>"))
        archive.writestr("OEBPS/cover.xhtml", page.format('<img src="x.png"/>'))
        for name, content in parts.items():
            archive.writestr(f"META-INF/{name}.xml", content)
    return stream.getvalue()


def test_chapters_are_read_in_the_order_of_the_spine():
    document = read_epub(book())
    assert [block.text for block in document.blocks] == ["One", "The kiln is hot.", "Two", "The lathe is loud."]
    assert (document.title, document.meta) == ("Kilns", {"author": "Ann", "language": "en"})


def test_a_protected_book_says_so():
    protected = '<encryption><CipherReference URI="OEBPS/a.xhtml"/></encryption>'
    with pytest.raises(Unreadable, match="copy-protected"):
        read_epub(book(encryption=protected))


def test_embedded_fonts_may_be_protected():
    fonts = '<encryption><CipherReference URI="OEBPS/font.otf"/></encryption>'
    assert read_epub(book(encryption=fonts)).blocks
