"""A text as running sentences, and as lists with what introduces each."""

from __future__ import annotations

import re
from typing import NamedTuple

from convqa.text.sentences import sentences

_BULLET = re.compile(r"\s{0,20}(?:\*{1,3}|[•\u2023\u25e6\u25aa\u2013-]|[a-z]\)|\(\w{1,3}\))\s{1,8}(?=\S)")
_NUMBERED = re.compile(r"\s{0,20}\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)]\s{1,8}(?=\S)")
_TITLE = re.compile(r"\s{0,8}#{1,6}")


class Block(NamedTuple):
    """Sentences of running text, or a list with the sentence that introduces it (or the title above it)."""

    sentences: tuple[tuple[int, int], ...]
    intro: tuple[int, int] | None = None
    points: tuple[tuple[int, int], ...] = ()


def blocks(text: str) -> list[Block]:
    """The blocks of a text in its order; titles are none.

    >>> found = blocks("# Pay\\n\\nIt rains. You must:\\n1. work\\n2. pay\\n\\nThat is all.")
    >>> [len(one.points) or len(one.sentences) for one in found]
    [1, 2, 1]
    """
    found: list[Block] = []
    title: tuple[int, int] | None = None
    running: list[tuple[int, int]] = []
    points: list[tuple[int, int]] = []

    def close() -> None:
        intro = running.pop() if points and running else title
        if running:
            found.append(Block(tuple(running)))
        if points:
            found.append(Block((), intro, tuple(points)))
        running.clear()
        points.clear()

    place = 0
    lines = text.splitlines(keepends=True)
    # A single number is that of a section.
    numbered = sum(_NUMBERED.match(line) is not None for line in lines) > 1
    for line in lines:
        start, place = place, place + len(line)
        end = start + len(line.rstrip())
        if not line.strip():
            continue
        if _TITLE.match(line):
            close()
            title = (start + line.index("#"), end)
        elif bullet := _BULLET.match(line) or (numbered and _NUMBERED.match(line)):
            points.append((start + bullet.end(), end))
        else:
            if points:
                close()
            running += [(start + one, start + two) for one, two in sentences(line)]
    close()
    return found
