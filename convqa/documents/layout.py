"""Lay out the blocks of a document as the text that passages are cut from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from convqa.documents.blocks import Block
from convqa.text.units import Part

_LISTS = frozenset({"item"})
_TABLES = frozenset({"header", "row"})


class LaidOut(NamedTuple):
    """A text with its parts in order. ``pages``: the page of each part, 0 for a document without pages."""

    text: str
    parts: list[Part]
    pages: list[int]


def laid_out(blocks: Sequence[Block]) -> LaidOut:
    """Return the text of blocks: empty lines between them, but not within lists and tables.

    A table ends where a header row follows a row, or at an empty paragraph.

    >>> laid_out([Block("heading", "Fees"), Block("item", "5 euros", marker="1."), Block("row", cells=("A", "B"))]).text
    'Fees\\n\\n1. 5 euros\\n\\n| A | B |'
    """
    pieces: list[str] = []
    parts: list[Part] = []
    pages: list[int] = []
    length = 0
    before: Block | None = None
    for block in blocks:
        shown = _shown(block)
        if not shown.strip():
            if block.kind == "paragraph":
                # An empty paragraph ends a table.
                parts.append(Part(length, length))
                pages.append(block.page)
                before = block
            continue
        gap = "" if not length else "\n" if _is_same_list(before, block) else "\n\n"
        start = length + len(gap)
        bullet = 2 if block.kind == "item" and not block.marker else 0
        length = start + len(shown)
        parts.append(Part(start + bullet, length, block.kind, block.level, bool(block.marker)))
        pages.append(block.page)
        pieces += (gap, shown)
        before = block
    return LaidOut("".join(pieces), parts, pages)


def _shown(block: Block) -> str:
    if block.kind in _TABLES:
        return f"| {' | '.join(' '.join(cell.split()) for cell in block.cells)} |" if any(block.cells) else ""
    text = block.text.strip("\n") if block.kind == "code" else block.text.strip()
    if block.kind == "item" and text:
        return f"{block.marker or '-'} {text}"
    return text


def _is_same_list(before: Block | None, block: Block) -> bool:
    if before is None or (before.kind == "row" and block.kind == "header"):
        return False
    return any(before.kind in kinds and block.kind in kinds for kinds in (_LISTS, _TABLES))
