"""Electronic books (.epub): their chapters in order, each read as HTML."""

from __future__ import annotations

import posixpath
from collections import Counter
from urllib.parse import unquote

from convqa.documents.archive import Archive, attribute, properties
from convqa.documents.blocks import Block, Document, Unreadable
from convqa.documents.html import read_html


def read_epub(data: bytes) -> Document:
    """Read a book.

    :raises Unreadable: if it has no text, is copy-protected, damaged or too large, or is of another type.
    """
    archive = Archive(data, "electronic book (.epub)")
    container = archive.xml("META-INF/container.xml")
    name = attribute(container.find("{*}rootfiles/{*}rootfile"), "full-path")
    package = archive.xml(name)
    items = {attribute(item, "id"): item for item in package.iterfind("{*}manifest/{*}item")}
    protected = {
        attribute(reference, "URI") for reference in archive.xml("META-INF/encryption.xml").iter("{*}CipherReference")
    }
    blocks: list[Block] = []
    counts: Counter[str] = Counter()
    unread: list[str] = []
    for reference in package.iterfind("{*}spine/{*}itemref"):
        item = items.get(attribute(reference, "idref"))
        if "nav" in attribute(item, "properties").split():
            continue
        part = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(attribute(item, "href"))))
        if part in protected:
            raise Unreadable("it is copy-protected; only its vendor's programs can read it")
        try:
            chapter = read_html(archive.read(part))
        except Unreadable:
            # Covers are pictures.
            continue
        blocks += chapter.blocks
        counts += Counter(chapter.counts)
        unread += chapter.unread
    if not blocks:
        raise Unreadable("it has no text")
    title, meta = properties(package)
    return Document(tuple(blocks), title, meta, dict(counts), (*unread, *archive.losses()))
