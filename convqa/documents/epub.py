"""Electronic books (.epub): their chapters in order, each read as HTML."""

from __future__ import annotations

import posixpath
from urllib.parse import unquote

from convqa.documents.archive import Archive, properties
from convqa.documents.blocks import Block, Document
from convqa.documents.html import read_html


def read_epub(data: bytes) -> Document:
    """Read a book.

    :raises Unreadable: if it is copy-protected or too large.
    """
    archive = Archive(data)
    container = archive.xml("META-INF/container.xml")
    name = container.find(".//rootfile").get("full-path")
    package = archive.xml(name)
    items = {item.get("id"): item for item in package.iter("item")}
    blocks: list[Block] = []
    for reference in package.iter("itemref"):
        item = items.get(reference.get("idref"))
        if item is None or item.get("properties") == "nav":
            continue
        path = posixpath.join(posixpath.dirname(name), unquote(item.get("href")))
        page = archive.read(posixpath.normpath(path))
        if page:
            blocks += read_html(page).blocks
    title, meta = properties(package)
    return Document(tuple(blocks), title, meta, archive.not_read())
