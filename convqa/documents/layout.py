"""Lay out the blocks of a document as the text that passages are cut from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from convqa.documents.blocks import Block, BlockKind
from convqa.documents.text import clean
from convqa.text.units import Part


class LaidOut(NamedTuple):
    """A text with its parts in order."""

    text: str
    parts: list[Part]


def laid_out(blocks: Sequence[Block]) -> LaidOut:
    """Return the text of blocks: empty lines between them, but not within lists and tables.

    A table ends where a header row follows a row, or at an empty paragraph.

    >>> laid_out([Block("heading", "Fees"), Block("item", "5 euros", marker="1."), Block("row", cells=("A", "B"))]).text
    'Fees\\n\\n1. 5 euros\\n\\n| A | B |'
    """
    pieces: list[str] = []
    parts: list[Part] = []
    length = 0
    before: Block | None = None
    for block in blocks:
        shown = _shown(block)
        if not shown and block.kind != "paragraph":
            continue
        gap = ""
        if shown and length:
            gap = "\n" if before and _is_same_list(before.kind, block.kind) else "\n\n"
        start = length + len(gap)
        length = start + len(shown)
        if block.kind == "item" and not block.marker:
            # The bullet is not part of the item.
            start += 2
        parts.append(Part(start, length, block.kind, block.level, bool(block.marker), block.page))
        pieces += (gap, shown)
        before = block
    return LaidOut("".join(pieces), parts)


def _shown(block: Block) -> str:
    if any(block.cells):
        cells = (" ".join(clean(cell).split()).replace("|", "\\|") for cell in block.cells)
        return f"| {' | '.join(cells)} |"
    text = clean(block.text)
    text = text.strip("\n") if block.kind == "code" else text.strip()
    if block.kind == "item" and text:
        return f"{block.marker or '-'} {text}"
    return text


def _is_same_list(before: BlockKind, kind: BlockKind) -> bool:
    if before == "item":
        return kind == "item"
    return kind == "row" and before in ("header", "row")
