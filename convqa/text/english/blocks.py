"""A text as running sentences, and as lists with what introduces each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from convqa.text.sentences import sentences

_BULLET = re.compile(r"\s{0,20}(?:\*{1,3}|[•\u2023\u25e6\u25aa\u2013-]|[a-z]\)|\(\w{1,3}\))\s{1,8}(?=\S)")
_NUMBERED = re.compile(r"\s{0,20}\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)]\s{1,8}(?=\S)")
_TITLE = re.compile(r"\s{0,8}#{1,6}")


@dataclass(slots=True)
class Block:
    """Sentences of running text, or a list with the sentence that introduces it (or the title above it)."""

    sentences: list[tuple[int, int]]
    intro: tuple[int, int] | None = None
    points: tuple[tuple[int, int], ...] = ()


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a text in its order; titles are none.

    >>> found = blocks("# Pay\\n\\nIt rains. You must:\\n1. work\\n2. pay\\n\\nThat is all.")
    >>> [len(one.points) or len(one.sentences) for one in found]
    [1, 2, 1]
    """
    title: tuple[int, int] | None = None
    running: list[tuple[int, int]] = []
    points: list[tuple[int, int]] = []

    def close() -> Iterator[Block]:
        nonlocal running, points
        if points:
            intro = running.pop() if running else title
            if running:
                yield Block(running)
            yield Block([], intro, tuple(points))
        elif running:
            yield Block(running)
        running, points = [], []

    place = 0
    lines = text.splitlines(keepends=True)
    # A single number is that of a section.
    numbered = sum(_NUMBERED.match(line) is not None for line in lines) > 1
    for line in lines:
        start, place = place, place + len(line)
        body = line.strip()
        if not body:
            continue
        if _TITLE.match(line):
            yield from close()
            title = (start + line.index("#"), start + len(line.rstrip()))
        elif bullet := _BULLET.match(line) or (numbered and _NUMBERED.match(line)):
            points.append((start + bullet.end(), start + len(line.rstrip())))
        else:
            if points:
                yield from close()
            running += [(start + one, start + two) for one, two in sentences(line)]
    yield from close()
