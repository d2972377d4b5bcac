"""Word documents (.docx), Transitional and Strict, read from their XML as Word shows them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from convqa.documents.archive import Archive, lines, number, properties, value
from convqa.documents.blocks import Block, Document
from convqa.documents.numbering import Numbering
from convqa.documents.tables import TableCell, spread, table
from convqa.documents.text import RAISED

_PAGE_NUMBER = re.compile(r"(?i)\W*(page|seite|strona|página|pagina|p|s)?\W*\d{1,4}(\W+(of|von|z|de|sur)?\W*\d+)?\W*")
"""A header or footer that says nothing else, such as "Page 2 of 9"."""
_MAX_STYLES = 10
"""Styles that a style can be based on, one on another."""
_HEADING = re.compile("heading ?([1-9])")
_ROLE = re.compile("title|caption|toc [1-9]")
_CLAUSE = re.compile(r"(\S+\s+){12}.*[.:;]|.{150,}", re.DOTALL)
"""A clause in the style of a heading: a sentence of more than twelve words, or a long text."""
_BESIDE_TABLE = "preceding-sibling::*[1][self::tbl] | following-sibling::*[1][self::tbl]"
"""The tables next to a paragraph. A caption without one is a picture's."""
_IS_BOLD = "not(.//r[t][not(rPr/b)])"

_NOT_SHOWN = {
    "del",
    "instrText",
    "moveFrom",
    "pPr",
    "rt",
}
_CHARACTERS = {
    "tab": "\t",
    "cr": "\n",
    "noBreakHyphen": "-",
    "den": "/",
    "sup": "^",
}
"""What elements stand for. The last two begin parts of formulas: 1/2, x^2."""
_PROPERTIES = {"ilvl", "numId", "outlineLvl"}
_NOT_HIDDEN = {"", "0", "false", "off"}


def read_docx(data: bytes) -> Document:
    """Read a Word document.

    Insertions that are tracked are read and deletions are not. Footnotes and text boxes follow their paragraph; headers
    and footers come first, each once, and the texts of diagrams last. Comments, hidden text and the table of contents
    are left out.

    :raises Unreadable: if it is encrypted or too large.
    """
    archive = Archive(data)
    reader = _WordReader(archive)
    body = list(reader.blocks(reader.document))
    body += (Block("item", text) for text in archive.diagrams(reader.relations))
    texts = {block.text for block in body}
    margins = [block for block in dict.fromkeys(reader.margins()) if block.text not in texts]
    title, meta = properties(archive.xml("docProps/core.xml"))
    return Document(
        (*margins, *body),
        title or reader.title,
        meta,
        archive.not_read(),
    )


class _WordReader:
    """Reads the parts of a document in the order of its text."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        main = archive.main()
        self.document = archive.xml(main)
        self.relations = archive.relations(main)
        self.numbering = Numbering(self._part("numbering"))
        self.styles = {style.get("styleId"): style for style in self._part("styles").iter("style")}
        self.notes: dict[tuple[str, str], Any] = {}
        for kind in ("footnote", "endnote"):
            for note in self._part(f"{kind}s"):
                self.notes[f"{kind}Reference", note.get("id")] = note
        self.title = ""
        # Footnotes and text boxes of a paragraph, which are read after it.
        self.pending: list[Any] = []
        # The text of a paragraph whose end is deleted: it goes on in the next one.
        self.unfinished = ""

    def _part(self, kind: str) -> Any:
        parts = dict(self.relations.values())
        return self.archive.xml(parts.get(kind, ""))

    def margins(self) -> Iterator[Block]:
        """Yield the blocks of headers and footers, except page numbers."""
        for kind, part in self.relations.values():
            if kind not in ("header", "footer"):
                continue
            for block in self.blocks(self.archive.xml(part)):
                if not _PAGE_NUMBER.fullmatch(block.text):
                    yield block if block.cells else Block("paragraph", block.text)

    def blocks(self, container: Any) -> Iterator[Block]:
        """Yield the blocks of an element, such as the body, a cell or a footnote."""
        for element in container:
            if element.tag == "p":
                yield from self._paragraph(element)
                yield from self._pending()
            elif element.tag == "tbl":
                yield from self._table(element)
            elif element.tag not in _NOT_SHOWN:
                yield from self.blocks(element)

    def _pending(self) -> Iterator[Block]:
        pending = self.pending
        self.pending = []
        for element in pending:
            if element.tag == "txbxContent":
                yield from self.blocks(element)
            else:
                yield Block("footnote", _one_line(self.blocks(element)))

    def _paragraph(self, paragraph: Any) -> Iterator[Block]:
        raw = self.unfinished + "".join(self._pieces(paragraph))
        self.unfinished = ""
        text = lines(raw)
        if paragraph.find("pPr/rPr/del") is not None:
            self.unfinished = raw
        elif text:
            yield from self._filled(paragraph, text)

    def _filled(self, paragraph: Any, text: str) -> Iterator[Block]:
        look = self._look(paragraph)
        level = number(look.get("ilvl"))
        outline = number(look.get("outlineLvl"), 9)
        marker = self.numbering.next_marker(look.get("numId", ""), level)
        role = look.get("role", "")
        if role.startswith("toc"):
            return
        if role == "title" and not self.title:
            self.title = text
            yield Block("heading", text)
        elif role == "caption" and paragraph.xpath(_BESIDE_TABLE):
            yield Block("caption", text)
        elif outline < 9 and not _CLAUSE.fullmatch(text):
            heading = f"{marker or ''} {text}".strip()
            yield Block("heading", heading, min(outline + 1, 6))
        elif marker is not None:
            yield Block("item", text, marker=marker)
        else:
            yield Block("paragraph", text)

    def _look(self, paragraph: Any) -> dict[str, str]:
        """Return the properties of a paragraph, and those of its style and the styles that this is based on."""
        look: dict[str, str] = {}
        properties = paragraph.xpath("pPr/* | pPr/numPr/*")
        style_id = value(paragraph, "pPr/pStyle")
        for _ in range(_MAX_STYLES):
            for element in properties:
                if element.tag in _PROPERTIES:
                    look.setdefault(element.tag, element.get("val", ""))
            style = self.styles.get(style_id)
            if style is None:
                break
            properties = style.iter()
            name = value(style, "name").lower()
            if heading := _HEADING.fullmatch(name):
                look.setdefault("outlineLvl", str(int(heading[1]) - 1))
            if _ROLE.fullmatch(name):
                look.setdefault("role", name)
            if style_id in self.numbering.levels:
                look.setdefault("ilvl", self.numbering.levels[style_id])
            style_id = value(style, "basedOn")
        return look

    def _pieces(self, element: Any) -> Iterator[str]:
        """Yield the pieces of text in an element."""
        for child in element:
            name = child.tag
            note = self.notes.get((name, child.get("id")))
            if name == "t":
                yield child.text or ""
            elif name == "br":
                # A page or column can end within a sentence.
                yield " " if child.get("type") in ("page", "column") else "\n"
            elif note is not None:
                self.pending.append(note)
            elif name == "txbxContent":
                self.pending.append(child)
            elif name not in _NOT_SHOWN and value(child, "rPr/vanish", default="1") in _NOT_HIDDEN:
                yield _CHARACTERS.get(name, "")
                yield RAISED if value(child, "rPr/vertAlign") == "superscript" else ""
                yield from self._pieces(child)

    def _table(self, element: Any) -> Iterator[Block]:
        rows = [row for row in element.iterfind("tr") if row.find("trPr/del") is None]
        cells = [row.findall("tc") for row in rows]
        contents = {cell: list(self.blocks(cell)) for row in cells for cell in row}
        blocks = [block for content in contents.values() for block in content]
        has_headings = any(block.kind == "heading" for block in blocks)
        if has_headings or len(rows) < 2 or max(map(len, cells)) < 2:
            # The table only places text on the page.
            yield from blocks
            return
        headers = len(element.findall("tr/trPr/tblHeader")) or int(rows[0].xpath(_IS_BOLD))
        grid = spread([[_cell(cell, _one_line(contents[cell])) for cell in row] for row in cells])
        yield from table(list(grid), headers)


def _cell(element: Any, text: str) -> TableCell:
    goes_on = value(element, "tcPr/vMerge", default="continue") == "continue"
    columns = number(value(element, "tcPr/gridSpan"), 1)
    return TableCell(None if goes_on and not text else text, columns=columns)


def _one_line(blocks: Iterable[Block]) -> str:
    """Return the text of blocks in one line, list items, rows and footnotes with semicolons between."""
    text = ""
    for block in blocks:
        pieces = (block.marker, block.text, *block.cells)
        is_part = block.kind in ("item", "row", "footnote")
        if is_part and text and text[-1] not in ".:;":
            text += ";"
        text = " ".join(filter(None, (text, *pieces)))
    return " ".join(text.split())
