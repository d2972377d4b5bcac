"""Electronic books: the order of their chapters."""

from __future__ import annotations

import zipfile
from io import BytesIO

from convqa.documents.epub import read_epub

PACKAGE = (
    '<package xmlns:dc="urn:dc"><metadata><dc:title>Kilns</dc:title><dc:creator>Ann</dc:creator><dc:creator>Bo'
    '</dc:creator><dc:language>en</dc:language></metadata><manifest><item id="b" href="two%20b.xhtml"/>'
    '<item id="a" href="a.xhtml"/><item id="c" href="cover.xhtml"/>'
    '<item id="n" href="nav.xhtml" properties="nav"/></manifest><spine><itemref idref="c"/><itemref idref="n"/>'
    '<itemref idref="a"/><itemref idref="missing"/><itemref idref="b"/></spine></package>'
)
PARTS = {
    "META-INF/container.xml": '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
    "OEBPS/book.opf": PACKAGE,
    "OEBPS/a.xhtml": "<html><body><h1>One</h1><p>The kiln is hot.</p></body></html>",
    "OEBPS/two b.xhtml": "<html><body><h1>Two</h1><p>The lathe is loud.</p></body></html>",
    "OEBPS/nav.xhtml": "<html><body><p>Contents</p></body></html>",
    "OEBPS/cover.xhtml": '<html><body><img src="x.png"/></body></html>',
}


def test_chapters_are_read_in_the_order_of_the_spine():
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in PARTS.items():
            archive.writestr(name, content)
    document = read_epub(stream.getvalue())
    assert [block.text for block in document.blocks] == ["One", "The kiln is hot.", "Two", "The lathe is loud."]
    assert (document.title, document.meta) == ("Kilns", {"author": "Ann, Bo", "language": "en"})
