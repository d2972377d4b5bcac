"""Divide a rule text into running text, lists with their introductions, and titles."""

from __future__ import annotations

import re
from typing import NamedTuple

from convqa.text.sentences import sentences
from convqa.text.words import Offsets


class RuleBlock(NamedTuple):
    """Sentences of running text, or a list with its introduction: the sentence before it, or else the title above."""

    sentences: tuple[Offsets, ...]
    intro: Offsets | None = None
    points: tuple[Offsets, ...] = ()


_BULLET = re.compile(r"\s{0,20}(?:\*{1,3}|[•\u2023\u25e6\u25aa\u2013-]|[a-z]\)|\(\w{1,3}\))\s{1,8}(?=\S)")
_NUMBERED = re.compile(r"\s{0,20}\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)]\s{1,8}(?=\S)")
_TITLE = re.compile(r"\s{0,8}#{1,6}")


def blocks(text: str) -> list[RuleBlock]:
    """Return the blocks of a text in order. Titles are not blocks.

    >>> text = "# Pay\\n\\nIt rains. You must:\\n1. work\\n2. pay\\n\\nThat is all."
    >>> [len(block.points) or len(block.sentences) for block in blocks(text)]
    [1, 2, 1]
    """
    result: list[RuleBlock] = []
    title: Offsets | None = None
    running: list[Offsets] = []
    points: list[Offsets] = []

    def close() -> None:
        intro = running.pop() if points and running else title
        if running:
            result.append(RuleBlock(tuple(running)))
        if points:
            result.append(RuleBlock((), intro, tuple(points)))
        running.clear()
        points.clear()

    next_start = 0
    lines = text.splitlines(keepends=True)
    # A single number numbers a section, not a list.
    numbered = sum(_NUMBERED.match(line) is not None for line in lines) > 1
    for line in lines:
        start, next_start = next_start, next_start + len(line)
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
            running += [(start + first, start + last) for first, last in sentences(line)]
    close()
    return result
