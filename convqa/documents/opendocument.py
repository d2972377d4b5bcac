"""OpenDocument texts (.odt), whose XML is read as the HTML that it resembles."""

from __future__ import annotations

from dataclasses import replace

from lxml import etree

from convqa.documents.archive import Archive, number, properties
from convqa.documents.blocks import Document
from convqa.documents.html import read_markup

_NOT_SHOWN = (
    "annotation",
    "covered-table-cell",
    "desc",
    "note-citation",
    "table-of-content",
    "tracked-changes",
)
_TAGS = {
    "line-break": "br",
    "list": "ul",
    "list-item": "li",
    "p": "p",
    "table": "table",
    "table-cell": "td",
    "table-header-rows": "thead",
    "table-row": "tr",
}
"""Names of elements -> those of HTML. Others are inline."""


def read_odt(data: bytes) -> Document:
    """Read an OpenDocument text.

    Footnotes stand in brackets in their sentence. Headers, footers, comments, the table of contents, deletions that are
    tracked, and the numbers of headings are left out.

    :raises Unreadable: if it is encrypted or too large.
    """
    archive = Archive(data)
    root = archive.xml("content.xml")
    etree.strip_elements(root, *_NOT_SHOWN, with_tail=False)
    numbered = {level.getparent().get("name") for level in root.iter("list-level-style-number")}
    for element in list(root.iter("*")):
        name = element.tag
        element.tag = _TAGS.get(name, "span")
        if name == "list" and element.get("style-name") in numbered:
            element.tag = "ol"
        elif name == "h":
            level = number(element.get("outline-level"), 1)
            element.tag = f"h{min(level, 6)}"
            for parent in element.iterancestors("ul", "ol", "li"):
                # Numbered headings are items of lists.
                parent.tag = "span"
        elif name == "table-cell":
            element.set("colspan", element.get("number-columns-spanned", "1"))
            element.set("rowspan", element.get("number-rows-spanned", "1"))
        elif name in ("s", "tab"):
            element.text = " "
        elif name == "note-body":
            text = " ".join(element.itertext())
            element[:] = []
            element.text = f" ({text})"
    document = read_markup(etree.tostring(root, encoding="unicode", method="html"))
    title, meta = properties(archive.xml("meta.xml"))
    return replace(document, title=title, meta=meta, unread=archive.not_read())
