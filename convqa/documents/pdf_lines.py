"""The words of a PDF's page as lines, and the blanks in and between lines."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

NEAR = 3.0
"""Points between places that count as the same."""

_SAME_LINE = 0.45
"""Difference of height of words on one line, in font sizes. Superscripts stand higher."""
_CLOSE = 0.8
"""Distance of lines that stand beside one another, in font sizes."""
_CHUNK_GAP = 0.8
"""Least blank between two columns in a line, in font sizes."""
_GUTTER = 0.5
"""Least blank that lines have in common between columns, in font sizes."""
_MIN_PROSE = 14
"""Average characters of lines of prose. Lines of numbers are shorter."""

_MANY_LINES = 30
_FULL_LINE = 25
"""Characters of a full line of a column."""
_MIN_FULL_LINES = 4

BULLET = re.compile(r"[•▪●◦‣\u2043∙·■□○►➢➤✓✔*\ue000-\uf8ff]")
_NUMBER = re.compile(
    r"[\u2013\u2014-]|\(?(\d{1,3}|[a-z]|[ivx]{1,5}|[A-Z](?=\)))[.)]|\d{1,2}(\.\d{1,2})+\.?|§\s?\d+[a-z]?\.?"
)
_WIDE = re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]")
"""Letters that are written without blanks between words."""
HYPHENS = ("-", "\u2010")
SENTENCE_END = re.compile(r"[.!?:…\u3002\uff01\uff1f][\"'\u201d\u2019»)\]]*$")


class Box(NamedTuple):
    """A rectangle or a straight line, in points from the left and downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def touches(self, other: Box) -> bool:
        is_beside = self.right + NEAR < other.left or other.right + NEAR < self.left
        is_above = self.bottom + NEAR < other.top or other.bottom + NEAR < self.top
        return not (is_beside or is_above)


@dataclass(slots=True, eq=False)
class Word:
    """A word and its place in points from the left and downwards.

    :param base: where its letters stand.
    :param table: the rows of a table that stands here in place of a word.
    """

    text: str
    left: float
    right: float
    base: float
    size: float
    is_bold: bool = False
    table: list[TableRow] | None = None

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2

    @property
    def height(self) -> float:
        """The middle of its letters."""
        return self.base - 0.3 * self.size


Row = list[Word]
"""Words on one line, from left to right."""
TableRow = list[list[Word]]
"""The words of each cell."""
Span = tuple[float, float]
"""The left and the right of a column."""


class Sheet(NamedTuple):
    """What is written on a page in one direction."""

    page: int
    width: float
    words: list[Word]
    rules: Sequence[Box] = ()


def rows_of(words: Iterable[Word]) -> list[Row]:
    """Return words as lines from top to bottom."""
    groups: list[Row] = []
    for word in sorted(words, key=lambda word: word.base):
        if groups and _is_on_line(groups[-1][0], word):
            groups[-1].append(word)
        else:
            groups.append([word])
    return [sorted(group, key=lambda word: word.left) for group in groups]


def _is_on_line(first: Word, word: Word) -> bool:
    if first.table or word.table:
        return False
    return word.base - first.base <= _SAME_LINE * max(first.size, word.size)


def is_close(before: Row, row: Row) -> bool:
    """Return whether two lines are closer than those of a text, as of cells that are centred."""
    return row[0].base - before[0].base < _CLOSE * row[0].size


def text_of(row: Row) -> str:
    """Return the words of a line with blanks."""
    return " ".join(word.text for word in row)


def joined(lines: Iterable[str]) -> str:
    """Join lines, and words that are broken at the end of a line."""
    text = ""
    for line in lines:
        if text[-2:-1].isalpha() and text.endswith(HYPHENS) and line[:1].islower():
            text = text[:-1]
        elif text and not (_WIDE.match(line) and _WIDE.match(text[-1])):
            text += " "
        text += line
    return text


def marker_of(row: Row) -> str:
    """Return the bullet or number that begins a line, or ""."""
    first = row[0].text
    is_marker = BULLET.fullmatch(first) or _NUMBER.fullmatch(first)
    return first if is_marker and len(row) > 1 else ""


def right_of(rows: Sequence[Row]) -> float:
    """Return the right edge of lines, without the few that are wider, such as those of a table in a narrow column."""
    rights = sorted(row[-1].right for row in rows)
    few = len(rows) // 7 if len(rows) >= _MANY_LINES else 0
    return rights[-1 - few]


def is_prose(rows: Sequence[Row]) -> bool:
    """Return whether lines are list items or sentences that go on in the next line."""
    rows = [row for row in rows if not row[0].table]
    if len(rows) < 3:
        return False
    right = right_of(rows)
    width = right - min(row[0].left for row in rows)
    going_on = 0
    characters = 0
    for row in rows:
        text = text_of(row)
        characters += len(text)
        is_full = row[-1].right > right - 0.25 * width and not SENTENCE_END.search(text)
        going_on += is_full or bool(marker_of(row))
    return going_on >= 0.4 * len(rows) and characters >= _MIN_PROSE * len(rows)


def has_paragraph(rows: Sequence[Row]) -> bool:
    """Return whether some lines are long and full, as those of a paragraph."""
    rows = [row for row in rows if not row[0].table]
    left = min((row[0].left for row in rows), default=0)
    right = right_of(rows) if rows else 0
    full = [row for row in rows if row[-1].right > left + 0.85 * (right - left) and len(text_of(row)) >= _FULL_LINE]
    return len(full) >= _MIN_FULL_LINES


def chunks_of(row: Row) -> list[Row]:
    """Return the parts of a line between wide blanks. A bullet or number is no part of its own."""
    chunks = [row[:1]]
    is_marked = bool(marker_of(row))
    for before, word in pairwise(row):
        is_after_marker = is_marked and before is row[0]
        # A heading can stand beside the text of another column.
        size = word.size if len(chunks[-1]) == 1 else min(before.size, word.size)
        if is_after_marker or word.left - before.right <= _CHUNK_GAP * size:
            chunks[-1].append(word)
        else:
            chunks.append([word])
    return chunks


def band(
    rows: Sequence[Row],
    start: int,
    keeps_all: bool,
) -> tuple[int, list[Span]]:
    """Return the line after those whose parts stand below one another, and the columns in which they stand.

    :param keeps_all: whether the lines keep all columns of the lines before apart, or two at least.
    """
    columns: list[Span] = []
    for end in range(start, len(rows)):
        row = rows[end]
        spans = [(chunk[0].left, chunk[-1].right) for chunk in chunks_of(row)]
        wider = _merged([*columns, *spans], _GUTTER * row[0].size)
        least = len(columns) if keeps_all else min(len(columns), 2)
        if len(wider) < least:
            return end, columns
        columns = wider
    return len(rows), columns


def _merged(spans: list[Span], gutter: float) -> list[Span]:
    """Return spans in order, those that overlap or have no gutter between them together."""
    merged: list[Span] = []
    for left, right in sorted(spans):
        if merged and left - merged[-1][1] < gutter:
            merged[-1] = (merged[-1][0], max(right, merged[-1][1]))
        else:
            merged.append((left, right))
    return merged


def split(row: Iterable[Word], columns: Sequence[Span]) -> list[list[Word]]:
    """Return words by column."""
    lefts = [left for left, _ in columns]
    cells: list[list[Word]] = [[] for _ in columns]
    for word in row:
        cells[bisect(lefts, word.left) - 1].append(word)
    return cells
