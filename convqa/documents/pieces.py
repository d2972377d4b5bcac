"""What the readers of several formats share: texts of blocks, captions, amounts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from convqa.documents.blocks import Block, Unreadable
from convqa.documents.text import clean

_MAX_PAGE_WORDS = 3
"""Words beside a page number in a header or footer that says nothing else, such as "Page 2 of 9"."""

_FILE_NAME = re.compile(r"\.\w{3,4}\s*$")


def lines(text: str) -> str:
    """Return a text with single blanks, and without empty lines and control characters."""
    stripped = (" ".join(line.split()) for line in clean(text).split("\n"))
    return "\n".join(line for line in stripped if line)


def one_line(blocks: Iterable[Block]) -> str:
    """Return the text of blocks in one line, list items and the rows of a table with semicolons between."""
    text = ""
    for block in blocks:
        is_part = block.kind in ("item", "header", "row") and text and text[-1] not in ".:;"
        words = " ".join(filter(None, (block.marker, block.text, *block.cells)))
        text += ("; " if is_part else " ") + words
    return " ".join(text.split())


def alternative(text: str) -> Iterator[Block]:
    """Yield the alternative text of a picture, if it is one rather than the name of a file."""
    if " " in text.strip() and not _FILE_NAME.search(text):
        yield Block("paragraph", lines(text))


def is_page_number(text: str, has_number: bool) -> bool:
    """Whether a line of a header or footer says no more than the page's number, which it has."""
    return has_number and len(re.findall(r"[^\W\d]+", text)) <= _MAX_PAGE_WORDS


def with_margins(margins: Iterable[Block], body: Sequence[Block]) -> tuple[Block, ...]:
    """Return the blocks of headers and footers, each once, and then those of the body.

    A caption that is not beside a table becomes a paragraph: it is a picture's.
    """
    texts = {block.text for block in body}
    first = dict.fromkeys(block for block in margins if block.text not in texts)
    blocks = []
    for index, block in enumerate(body):
        beside = (*body[max(index - 1, 0) : index], *body[index + 1 : index + 2])
        if block.kind == "caption" and not any(near.cells for near in beside):
            block = replace(block, kind="paragraph")
        blocks.append(block)
    return (*first, *blocks)


def amounts(**numbers: int) -> Iterator[str]:
    """Yield "1 image" or "3 images" for ``images=1`` or ``images=3``; nothing for 0."""
    for name, count in numbers.items():
        if count:
            noun = name.replace("_", " ")
            yield f"{count} {noun if count > 1 else noun.removesuffix('s')}"


def no_text(unread: Iterable[str]) -> Unreadable:
    """Return the error for a document without text."""
    rest = ", ".join(unread)
    return Unreadable(f"it has no text (not read: {rest})" if rest else "it has no text")
