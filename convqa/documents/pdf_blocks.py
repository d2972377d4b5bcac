"""Make the lines and tables of a PDF blocks: headings, list items, paragraphs, captions and rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from statistics import mode

from convqa.documents.blocks import Block, BlockKind
from convqa.documents.pdf_layout import Line, Table
from convqa.documents.pdf_lines import BULLET, HYPHENS, NEAR, SENTENCE_END, joined, marker_of, rows_of, text_of
from convqa.documents.tables import TableCell, spread, table

_LEADING = 1.2
"""Usual distance between lines, in font sizes."""
_PARAGRAPH_GAP = 1.3
"""Distance of lines between paragraphs, in distances within them."""
_HEADING_SIZE = 1.12
"""Size of headings, in sizes of the body."""
_MAX_BOLD_HEADING = 100
"""Characters of a heading that is not larger than the body."""

_LETTERS = re.compile(r"[^\W\d_]{2}|[\u3040-\u30ff\u3400-\u9fff]")
_CAPTION = re.compile(r"(?i)(figure|fig\.|table|abbildung|abb\.|tabelle|tab\.|rysunek|rys\.|tabela)\s*\d|[図表]\s*\d")


def blocks_of(elements: Sequence[Line | Table]) -> Iterator[Block]:
    """Yield the blocks of a document in the order in which they are read."""
    document = _Document([element for element in elements if isinstance(element, Line)])
    lines: list[Line] = []
    for element in elements:
        if lines and not (isinstance(element, Line) and document.goes_on(lines, element)):
            yield document.block(lines)
            lines = []
        if isinstance(element, Line):
            lines.append(element)
        else:
            yield from document.rows(element)
    if lines:
        yield document.block(lines)


class _Document:
    """How a document is written, by which its blocks are told apart."""

    def __init__(self, lines: Sequence[Line]) -> None:
        letters: Counter[tuple[float, bool]] = Counter()
        steps = [_LEADING]
        for line in lines:
            letters[line.style] += len(line.text)
        for before, line in pairwise(lines):
            if before.column is line.column and before.style == line.style:
                steps.append(round((line.base - before.base) / line.size, 1))
        self._body = max(
            letters,
            key=lambda style: letters[style],
            default=(0.0, False),
        )
        self._leading = mode(steps)
        headings = {line.style for line in lines if self._is_heading(line.style, line.text)}
        by_size = sorted(headings, reverse=True)
        self._levels = dict(zip(by_size, (1, 2, 3, 4, 5), strict=False))

    def goes_on(self, lines: Sequence[Line], line: Line) -> bool:
        """Return whether a line belongs to the block of the lines before."""
        before = lines[-1]
        marker = marker_of(line.words)
        is_item = bool(marker_of(lines[0].words))
        if (marker and is_item) or before.style != line.style or BULLET.match(marker):
            return False
        is_lower = line.text[0].islower() and not marker
        is_unfinished = is_lower or before.text.endswith((",", "\u2013", *HYPHENS))
        if before.column is not line.column:
            if before.column.depth != line.column.depth:
                return False
            is_ended = before.has_room_for(line) or SENTENCE_END.search(before.text)
            return is_unfinished or not is_ended
        step = line.base - before.base
        usual = self._leading * before.size
        if step > _PARAGRAPH_GAP * max(usual, 1.1 * before.size):
            return False
        if before.has_room_for(line):
            return is_unfinished
        moved = line.indent - before.indent
        return moved > -NEAR if is_item else moved < 0.8 * line.size

    def _is_heading(self, style: tuple[float, bool], text: str) -> bool:
        """Return whether a text is larger or bolder than the body of the document."""
        size, is_bold = style
        usual_size, is_usually_bold = self._body
        if not _LETTERS.search(text):
            return False
        if size > usual_size * _HEADING_SIZE:
            return True
        is_bolder = is_bold and not is_usually_bold
        is_title = len(text) <= _MAX_BOLD_HEADING and not text.endswith((".", ",", ";"))
        return is_bolder and is_title

    def block(self, lines: Sequence[Line]) -> Block:
        first = lines[0]
        page = first.column.page
        text = joined(line.text for line in lines)
        marker = marker_of(first.words)
        if self._is_heading(first.style, text):
            level = self._levels.get(first.style, 6)
            return Block("heading", text, level, page=page)
        if marker:
            rest = text[len(marker) :].lstrip()
            is_number = any(map(str.isalnum, marker))
            return Block(
                "item",
                rest,
                marker=marker if is_number else "",
                page=page,
            )
        kind: BlockKind = "caption" if _CAPTION.match(text) else "paragraph"
        return Block(kind, text, page=page)

    def rows(self, element: Table) -> Iterator[Block]:
        is_bold = [all(word.is_bold for cell in row for word in cell) for row in element.rows]
        has_header = is_bold[0] and not all(is_bold)
        rows = []
        for row in element.rows:
            cells = []
            # A cell over several columns is the same one in each.
            for _, same in groupby(row, key=id):
                cell, *others = same
                text = joined(map(text_of, rows_of(cell)))
                cells.append(TableCell(text, columns=1 + len(others)))
            rows.append(cells)
        return table(list(spread(rows)), int(has_header), element.page)
