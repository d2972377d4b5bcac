"""PowerPoint presentations (.pptx), read from their XML."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from convqa.documents.archive import Archive, number, properties, value
from convqa.documents.blocks import Block, Document, amounts
from convqa.documents.tables import TableCell, spread, table
from convqa.documents.text import RAISED

_NOT_SHOWN = ("dt", "ftr", "sldNum")
"""Placeholders of the date, the footer and the number of a slide."""


def read_pptx(data: bytes) -> Document:
    """Read the slides of a presentation in order, each with its title as heading and its notes.

    Pages are the numbers of slides. Hidden slides, charts and footers are left out.

    :raises Unreadable: if it is encrypted or too large.
    """
    archive = Archive(data)
    main = archive.main()
    relations = archive.relations(main)
    blocks: list[Block] = []
    hidden = 0
    entries = archive.xml(main).findall("sldIdLst/sldId")
    for page, entry in enumerate(entries, start=1):
        _, part = relations.get(entry.get("id"), ("", ""))
        slide = archive.xml(part)
        if slide.get("show") == "0":
            hidden += 1
            continue
        related = archive.relations(part)
        notes = archive.xml(dict(related.values()).get("notesSlide", ""))
        diagrams = (Block("item", text) for text in archive.diagrams(related))
        content = [*_content(slide), *diagrams, *_content(notes)]
        # The title need not be the first shape.
        content.sort(key=lambda block: block.kind != "heading")
        if content and content[0].kind != "heading":
            content.insert(0, Block("heading", f"Slide {page}"))
        blocks += (replace(block, page=page) for block in content)
    title, meta = properties(archive.xml("docProps/core.xml"))
    unread = amounts({"hidden slides": hidden})
    return Document(
        tuple(blocks),
        title,
        meta,
        (*unread, *archive.not_read()),
        len(entries) - hidden,
    )


def _content(slide: Any) -> Iterator[Block]:
    """Yield the blocks of a slide or its notes."""
    for shape in filter(_text, slide.iter("sp", "tbl")):
        placeholder = value(shape, "nvSpPr/nvPr/ph", "type", "body")
        if shape.tag == "tbl":
            rows = spread(map(_cells, shape.iter("tr")))
            has_header = value(shape, "tblPr", "firstRow") == "1"
            yield from table(list(rows), int(has_header))
        elif placeholder in ("title", "ctrTitle"):
            yield Block("heading", _text(shape))
        elif placeholder not in _NOT_SHOWN:
            is_list = placeholder == "body" and slide.tag == "sld"
            for paragraph in filter(_text, shape.iter("p")):
                text = _text(paragraph)
                if is_list or paragraph.find("pPr/buChar") is not None:
                    yield Block("item", text)
                else:
                    yield Block("paragraph", text)


def _cells(row: Any) -> list[TableCell]:
    """Return the cells of a row without those that the cell before spans."""
    cells = []
    for cell in row.iterfind("tc"):
        if cell.get("hMerge") is None:
            text = None if cell.get("vMerge") else _text(cell)
            cells.append(TableCell(text, columns=number(cell.get("gridSpan"), 1)))
    return cells


def _text(element: Any) -> str:
    """Return the text of a paragraph, or of the paragraphs of a shape or cell, in one line."""
    text = ""
    for child in element.iter("t", "br", "p"):
        is_raised = number(value(child.getparent(), "rPr", "baseline")) > 0
        text += (RAISED if is_raised else "") + (child.text or "") if child.tag == "t" else " "
    return " ".join(text.split())
