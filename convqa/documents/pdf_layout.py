"""Lay out the words of a PDF's pages as blocks: columns, tables, headings, list items and paragraphs."""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby, pairwise
from math import inf
from unicodedata import bidirectional

from convqa.documents.blocks import Block, BlockKind

_WORD_GAP = 0.15
"""Blank between two words, in ems (multiples of the font size)."""

_CELL_GAP = 0.8
"""Least blank between two columns in a line, in ems."""

_GUTTER = 0.5
"""Least blank that the lines of columns have in common, in ems."""

_LOOKAHEAD = 12
"""Lines to look for a second column below."""

_MAX_COLUMNS_DEPTH = 3
"""Columns within columns."""

_NARROW = 0.5
"""Least width of a page's text, in widths of the page. If all lines are shorter, they are no wrapped paragraphs."""

_SHORT_LINES = 1.25
"""Width of a column whose lines do not go on, such as a list of names, in widths of its longest line."""

_SAME_WIDTH = 0.75
"""Least ratio of the widths of two columns between which a paragraph goes on."""

_MAX_WORDS = 5_000
"""Words of a page. One with more is a map, in which columns and tables are not looked for."""

_MIN_TABLE_ROWS = 3
_MIN_PROSE_LINES = 3
_MAX_CELL = 800
"""Characters of a cell. A frame around more than that is no table."""

_MAX_RULES = 300
"""Rules of a page in each direction. A page with more is a drawing."""

_NEAR = 3.0
"""Points between places that count as the same."""

_EDGE_ROWS = 3
"""Lines at the top and bottom of a page that may be running titles or page numbers."""

_AROUND = 4
"""Pages before and after on most of which a running title stands."""

_MIN_REPEATS = 3
_MAX_FRONT_PAGES = 30
"""Limit of the difference between a page and its number beside a running title."""

_LEADING = 1.2
"""Usual distance between lines, in sizes of their font."""

_MIN_STEPS = 10
"""Pairs of lines from which the document's own distance is taken."""

_HEADING_SIZE = 1.12
"""Size of headings, in sizes of the body."""

_NOTE_SIZE = 0.92
"""Greatest size of footnotes, in sizes of the body."""

_MAX_HEADING = 200
"""Characters of a heading."""

_TYPEWRITTEN = 0.9
"""Share of monospaced letters from which a document is typewritten and no code."""

_FULL_PAGE = 400
"""Characters of a page from which its own size of letters is taken."""

_MAX_BOLD_HEADING = 100
"""Characters of a heading that is not larger than the body."""

_ENDS = re.compile(r"[.!?:…\u3002\uff01\uff1f][\"'\u201d\u2019»)\]]*$")
_WIDE = re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]")
_HYPHENATED = re.compile(r"\b\w{1,40}-\w{1,40}")
_LETTERS = re.compile(r"[^\W\d_]{2}|[\u3040-\u30ff\u3400-\u9fff]")
_PAGE_NUMBER = re.compile(
    r"(?i)\W*(?P<word>page|seite|strona|página|pagina|p\.|s\.)?\s*"
    r"(?P<number>\d{1,4}|[ivxl]{1,7})(\s*(/|of|von|z|de|sur)\s*\d{1,4})?[^\w%€$£¥]*"
)
_CONTENTS = re.compile(r".{0,250}?(?:\s?[.·…]){3,}\s*(?P<number>\d{1,4}|[ivxl]{1,7})")
_CONTENTS_TITLE = re.compile(r"(?i)(table of )?contents|inhalt(sverzeichnis)?|spis treści|目次")
_CHAPTER = re.compile(r"(\d{1,2}\.?)*|[A-Z]\.?|[IVX]+\.?")
_BULLET = re.compile(r"[•▪●◦‣\u2043∙·■□○►➢➤✓✔*\ue000-\uf8ff]")
_MARKER = re.compile(
    r"[\u2013\u2014-]|\(?(\d{1,3}|[a-z]|[ivx]{1,5}|[A-Z](?=\)))[.)]|\d{1,2}(\.\d{1,2})+\.?|§\s?\d+[a-z]?\.?"
)
_BARE_MARKER = re.compile(r"\d{1,2}|[a-z]")
_YEAR = re.compile(r"\b(19|20)\d\d\b")
_NOTE = re.compile(r"\(?(\d{1,3}|[*†‡§a-z])[).]?\s?\S")
_CAPTION = re.compile(r"(?i)(figure|fig\.|table|abbildung|abb\.|tabelle|tab\.|rysunek|rys\.|tabela)\s*\d|[図表]\s*\d")
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50}


@dataclass(slots=True)
class Word:
    """A word and its place in points from the left and downwards.

    :param base: where its letters stand.
    :param is_spaced: whether a blank precedes it.
    :param table: the rows of a table that stands here in place of a word.
    """

    text: str
    left: float
    right: float
    top: float
    bottom: float
    base: float
    size: float
    is_bold: bool = False
    is_mono: bool = False
    is_spaced: bool = True
    table: list[list[Cell]] | None = None


Row = list[Word]
"""Words on one line, from left to right."""

Cell = list[Row]
"""The lines of a cell of a table."""

Gaps = list[tuple[float, float]]
"""Where a line is blank: (left, right)."""


@dataclass(frozen=True, slots=True)
class Stroke:
    """A straight line of a page, in points from the left and downwards."""

    x0: float
    y0: float
    x1: float
    y1: float


@dataclass(frozen=True, slots=True)
class Sheet:
    """What is written on a page in one direction."""

    page: int
    width: float
    words: list[Word]
    rules: list[Stroke]


@dataclass(slots=True)
class _Line:
    """A line of a column.

    :param flow: a number of its column.
    :param depth: 0 for lines of the page, 1 for those of its columns ...
    :param left: of the column, as ``right``.
    """

    words: Row
    page: int
    flow: int
    depth: int
    left: float
    right: float
    is_alone: bool = False
    is_note: bool = False
    text: str = ""
    size: float = 0.0
    is_bold: bool = False
    is_mono: bool = False

    def __post_init__(self) -> None:
        self.text = _text(self.words)
        self.size = max(self.words, key=lambda word: len(word.text)).size
        self.is_bold = all(word.is_bold for word in self.words)
        self.is_mono = all(word.is_mono for word in self.words)

    @property
    def base(self) -> float:
        return self.words[0].base

    @property
    def indent(self) -> float:
        return self.words[0].left - self.left

    @property
    def center(self) -> float:
        return (self.words[0].left + self.words[-1].right) / 2


@dataclass(slots=True)
class _Table:
    """The rows of a table on one page."""

    rows: list[list[Cell]]
    page: int


@dataclass(frozen=True, slots=True)
class _Body:
    """How most of a document is written."""

    size: float
    is_bold: bool
    is_mono: bool


def blocks_of(sheets: Sequence[Sheet]) -> list[Block]:
    """Return the blocks of a document in the order in which they are read."""
    body = _body(word for sheet in sheets for word in sheet.words)
    furniture = _furniture(sheets)
    stream: list[_Line | _Table] = []
    for sheet in sheets:
        words = [word for word in sheet.words if id(word) not in furniture]
        words, rules = _with_tables(words, sheet.rules)
        stream += _Region(sheet.page, rules, body).elements(words, sheet.width * _NARROW)
    stream = _without_contents(stream)
    _mark_notes(stream, body)
    return _Writer(stream, body).blocks()


def _body(words: Iterable[Word]) -> _Body:
    sizes: Counter[float] = Counter()
    bold = mono = 0
    for word in words:
        length = len(word.text)
        sizes[round(word.size * 2) / 2] += length
        bold += length * word.is_bold
        mono += length * word.is_mono
    total = sum(sizes.values())
    return _Body(sizes.most_common(1)[0][0], bold > total / 2, mono > total * _TYPEWRITTEN)


# Lines


def _rows(words: Iterable[Word]) -> list[Row]:
    """Return words as lines from top to bottom."""
    rows: list[Row] = []
    largest = None
    for word in sorted(words, key=lambda word: word.base):
        if largest and _is_on_line(largest, word):
            rows[-1].append(word)
            if word.size > largest.size:
                largest = word
        else:
            rows.append([word])
            largest = word
    for row in rows:
        row.sort(key=lambda word: word.left)
    return rows


def _is_on_line(first: Word, second: Word) -> bool:
    if first.table or second.table:
        return False
    small, large = sorted((first.size, second.size))
    # Superscripts and subscripts stand higher and lower.
    tolerance = large * 0.5 if large * 0.45 <= small < large * 0.85 else small * 0.3
    return abs(first.base - second.base) <= tolerance


def _text(row: Row) -> str:
    """Return the words of a line with blanks."""
    if any(bidirectional(word.text[0]) in ("R", "AL") for word in row if word.text > "\u0590"):
        right_to_left = sum(bidirectional(word.text[0]) in ("R", "AL") for word in row)
        if right_to_left > len(row) / 2:
            return " ".join(word.text for word in reversed(row))
    parts = [word.text for word in row[:1]]
    for before, word in pairwise(row):
        is_apart = word.left - before.right > _WORD_GAP * max(word.size, before.size)
        if is_apart or (word.is_spaced and not (_WIDE.match(word.text) and _WIDE.match(before.text[-1]))):
            parts.append(" ")
        parts.append(word.text)
    return "".join(parts)


def _joined(lines: Iterable[str], compounds: set[str]) -> str:
    """Join lines, and words broken at the end of a line unless the document has them with their hyphen elsewhere."""
    text = ""
    for line in lines:
        is_broken = text[-2:-1].isalpha() and text.endswith("-") and line[:1].islower()
        if is_broken:
            if (text.split()[-1] + line.split()[0]).rstrip(".,;:)") not in compounds:
                text = text[:-1]
        elif text and not (_WIDE.match(line) and _WIDE.match(text[-1])):
            text += " "
        text += line
    return text


# Running titles and page numbers


@dataclass(slots=True)
class _Edge:
    """A line at the top or bottom of a page.

    :param number: its page number or 0.
    :param is_named: whether a word such as "Page" precedes the number.
    :param rest: the words beside the number.
    """

    page: int
    row: Row
    rest: Row
    number: int
    is_named: bool

    @property
    def height(self) -> int:
        return round(self.row[0].base / _NEAR)


def _furniture(sheets: Sequence[Sheet]) -> set[int]:
    """Return the ids of words of running titles and page numbers.

    A running title has the same words and numbers at the same place of most pages around; the first is kept.
    Page numbers count with the pages. Both are the outermost lines of a page.
    """
    pages = sheets[-1].page
    sides: list[list[_Edge]] = []
    for sheet in sheets:
        rows = _rows(sheet.words)
        half = min(_EDGE_ROWS, (len(rows) + 1) // 2)
        sides.append([_edge(sheet.page, row) for row in rows[:half]])
        sides.append([_edge(sheet.page, row) for row in reversed(rows[half:][-_EDGE_ROWS:])])
    titles: dict[tuple[str, int], set[int]] = defaultdict(set)
    numbers = set()
    edges = [edge for side in sides for edge in side]
    for edge in edges:
        for height in (edge.height - 1, edge.height, edge.height + 1):
            titles[_text(edge.rest), height].add(edge.page)
            numbers.add((edge.page, edge.number, height))
    offsets = {edge.number - edge.page for edge in edges if edge.number and _is_counted(edge, numbers, pages)}
    furniture: set[int] = set()
    for side in sides:
        for edge in side:
            on = titles[_text(edge.rest), edge.height]
            around = range(max(1, edge.page - _AROUND), min(pages, edge.page + _AROUND) + 1)
            repeats = sum(page in on for page in around)
            is_number = edge.number > 0 and edge.number - edge.page in offsets
            if is_number and edge.rest:
                # Words beside a number that counts are a running title, unless it is a label such as "Invoice 1002".
                is_title = repeats > 1 and edge.number <= pages + _MAX_FRONT_PAGES and edge.rest[-1].text[-1] != ":"
            else:
                is_title = not edge.number and repeats >= _MIN_REPEATS and repeats * 2 > len(around)
            if not is_title and (edge.rest or not is_number):
                break
            dropped = edge.row
            if edge.page == min(on) and edge.rest:
                dropped = [word for word in edge.row if all(word is not kept for kept in edge.rest)]
            furniture.update(map(id, dropped))
    return furniture


def _edge(page: int, row: Row) -> _Edge:
    """Return a line with its page number, if it has one."""
    whole = _PAGE_NUMBER.fullmatch(_text(row))
    if whole:
        return _Edge(page, row, [], _number(whole["number"]), bool(whole["word"]))
    apart = [place for place, (one, other) in enumerate(pairwise(row), 1) if other.left - one.right > other.size]
    parts = [(row[: apart[0]], row[apart[0] :]), (row[apart[-1] :], row[: apart[-1]])] if apart else []
    for part, rest in parts:
        match = _PAGE_NUMBER.fullmatch(_text(part))
        if match:
            return _Edge(page, row, rest, _number(match["number"]), bool(match["word"]))
    return _Edge(page, row, row, 0, False)


def _number(text: str) -> int:
    if text.isdecimal():
        return int(text)
    values = [_ROMAN[char] for char in text.lower()]
    return sum(-value if value < max(values[place:]) else value for place, value in enumerate(values))


def _is_counted(edge: _Edge, numbers: set[tuple[int, int, int]], pages: int) -> bool:
    """Return whether three pages in a row, this one among them, have numbers that count at the same height.

    Two are enough for "Page 1 of 2".
    """
    length = 2 if edge.is_named and pages == 2 else 3
    for first in range(edge.page - length + 1, edge.page + 1):
        run = range(first, first + length)
        if all((page, edge.number + page - edge.page, edge.height) in numbers for page in run):
            return True
    return False


def _without_contents(stream: Sequence[_Line | _Table]) -> list[_Line | _Table]:
    """Leave out tables of contents: lines that end in dots and numbers that do not decrease on most of a page."""
    entries: dict[int, dict[int, int]] = defaultdict(dict)
    for place, element in enumerate(stream):
        match = _CONTENTS.fullmatch(element.text) if isinstance(element, _Line) else None
        if match:
            entries[element.page][place] = _number(match["number"])
    dropped: set[int] = set()
    for numbers in entries.values():
        steps = [before <= number for before, number in pairwise(numbers.values())]
        if sum(steps) >= max(2, len(steps) * 0.75):
            dropped |= numbers.keys()
    kept = []
    for place, element in enumerate(stream):
        is_title = isinstance(element, _Line) and _CONTENTS_TITLE.fullmatch(element.text) and place + 1 in dropped
        if place not in dropped and not is_title:
            kept.append(element)
    return kept


def _mark_notes(stream: Iterable[_Line | _Table], body: _Body) -> None:
    """Mark the footnotes that end columns."""
    lines = [element for element in stream if isinstance(element, _Line)]
    for _, group in groupby(lines, key=lambda line: line.flow):
        column = list(group)
        start = len(column)
        while start and column[start - 1].size <= body.size * _NOTE_SIZE:
            start -= 1
        if 0 < start < len(column) and _NOTE.match(column[start].text):
            for line in column[start:]:
                line.is_note = True


# Columns and tables


class _Region:
    """A page, or a column of it."""

    def __init__(self, page: int, rules: Sequence[Stroke], body: _Body) -> None:
        self._page = page
        self._rules = rules
        self._body = body
        self._flow = page * 1_000

    def elements(self, words: Sequence[Word], width: float, depth: int = 0) -> Iterator[_Line | _Table]:
        """Yield the lines and tables of words in the order in which they are read.

        :param width: of the column, if no line is longer.
        """
        rows = _rows(words)
        if not rows:
            return
        if _is_prose(rows):
            width = 0.0
        elif depth and len(rows) >= _MIN_PROSE_LINES and not _is_prose(rows, least=0.1):
            width = _SHORT_LINES * (max(word.right for word in words) - min(word.left for word in words))
        left = min(word.left for word in words)
        right = max(left + width, *(word.right for word in words))
        self._flow += 1
        line = partial(_Line, page=self._page, flow=self._flow, depth=depth, left=left, right=right)
        if len(words) > _MAX_WORDS:
            yield from map(line, rows)
            return
        start = 0
        while start < len(rows):
            columns, end = self._columns(rows, start) if depth < _MAX_COLUMNS_DEPTH else ([], start)
            if columns:
                for column in columns:
                    yield from self.elements(column, 0.0, depth + 1)
                # What follows the columns does not go on with the lines before them.
                self._flow += 1
                line = partial(line, flow=self._flow)
                start = end
                continue
            first, end, cells = self._table(rows, start)
            if cells:
                yield from map(line, rows[start:first])
                if _is_contents(cells):
                    yield from (line(row, is_alone=True) for row in rows[first:end])
                else:
                    yield _Table(cells, self._page)
                start = end
                continue
            row = [word for word in rows[start] if not word.table]
            if row:
                yield line(row)
            yield from (_Table(word.table, self._page) for word in rows[start] if word.table)
            start += 1

    def _columns(self, rows: Sequence[Row], start: int) -> tuple[list[list[Word]], int]:
        """Return the words of the columns that begin at a line, none if there are none, and the line after them."""
        end, gutters = _band(rows, start, 1)
        if not gutters:
            return [], start
        columns = _split(rows[start:end], gutters)
        lines = [_rows(column) for column in columns]
        both = sum(len({_column(word, gutters) for word in row}) > 1 for row in rows[start:end])
        is_side_by_side = all(_is_prose(column) for column in lines)
        is_listed = all(sum(bool(_BULLET.match(row[0].text)) for row in column) > 1 for column in lines)
        is_apart = both < 0.6 * min(map(len, lines)) and min(map(len, lines)) > 1
        return (columns, end) if is_side_by_side or is_listed or is_apart else ([], start)

    def _table(self, rows: Sequence[Row], start: int) -> tuple[int, int, list[list[Cell]]]:
        """Return the first line of a table that begins at or after a line, the line after it, and its rows."""
        if len(_gaps(rows[start])) == 2:
            return start, start, []
        end, gutters = _band(rows, start, None)
        if not gutters or any(word.table for row in rows[start:end] for word in row):
            return start, start, []
        filled = [sorted({_column(word, gutters) for word in row}) for row in rows[start:end]]
        full = [place for place, columns in enumerate(filled) if len(columns) > 1]
        if not full:
            return start, start, []
        first = full[0]
        last = full[-1] + 1
        while last < len(filled) and self._continues(rows[start + last - 1], rows[start + last], filled[last]):
            last += 1
        table = rows[start + first : start + last]
        used = sorted({_column(word, gutters) for row in table for word in row})
        gutters = [gutters[column - 1] for column in used[1:]]
        is_code = all(word.is_mono for row in table for word in row) and not self._body.is_mono
        separators = self._separators(table)
        enough = _MIN_TABLE_ROWS - 1 if len(separators) > 1 else _MIN_TABLE_ROWS
        is_list = all(_BARE_MARKER.fullmatch(row[0].text) for row in table) and len(gutters) == 1
        if len(full) < enough or is_code or is_list or not _is_aligned(table, gutters):
            return start, start, []
        return start + first, start + last, _cells(table, gutters, separators)

    def _continues(self, before: Row, row: Row, columns: list[int]) -> bool:
        """Return whether a line with one cell is the second line of a cell of the row before."""
        is_near = row[0].base - before[0].base < 1.5 * row[0].size
        return is_near and (columns[0] > 0 or row[0].text[0].islower())

    def _separators(self, rows: Sequence[Row]) -> list[float]:
        """Return the heights of the horizontal rules from side to side of rows."""
        left = min(row[0].left for row in rows)
        right = max(word.right for row in rows for word in row)
        top = rows[0][0].base - 3 * rows[0][0].size
        bottom = rows[-1][0].base + 2 * rows[-1][0].size
        heights: dict[int, list[Stroke]] = defaultdict(list)
        for rule in self._rules:
            if rule.y1 - rule.y0 < 1 and top < rule.y0 < bottom and rule.x1 > left and rule.x0 < right:
                heights[round(rule.y0)].append(rule)
        wide = []
        for height, parts in heights.items():
            if sum(part.x1 - part.x0 for part in parts) > 0.7 * (right - left):
                wide.append(float(height))
        return sorted(wide)


def _gaps(row: Row) -> Gaps:
    """Return where a line is blank, left and right of it too."""
    gaps = [(-inf, row[0].left)]
    right = row[0].right
    for before, word in pairwise(row):
        is_marker = before is row[0] and (_BULLET.fullmatch(before.text) or _MARKER.fullmatch(before.text))
        if word.left - right > _CELL_GAP * word.size and not is_marker:
            gaps.append((right, word.left))
        right = max(right, word.right)
    gaps.append((right, inf))
    return gaps


def _common(first: Gaps, second: Gaps, least: float) -> Gaps:
    """Return where two lines are both blank."""
    common = []
    for left, right in first:
        for other_left, other_right in second:
            gap = (max(left, other_left), min(right, other_right))
            if gap[1] - gap[0] >= least:
                common.append(gap)
    return common


def _band(rows: Sequence[Row], start: int, least: int | None) -> tuple[int, Gaps]:
    """Return the line after those that have gutters in common, and the gutters.

    :param least: gutters that are enough to go on; None for all that the lines before have in common.
    """
    gutters: Gaps = []
    common = _gaps(rows[start])
    end = start + 1
    while end < len(rows):
        narrowed = _common(common, _gaps(rows[end]), _GUTTER * rows[end][0].size)
        inner = [gap for gap in narrowed if -inf < gap[0] and gap[1] < inf]
        if len(inner) < (len(gutters) if least is None else min(least, len(gutters))):
            break
        if not inner and (end - start >= _LOOKAHEAD or len(_gaps(rows[start])) > 2):
            break
        common, gutters = narrowed, inner
        end += 1
    return end, gutters


def _column(word: Word, gutters: Gaps) -> int:
    return sum(word.left >= right - 0.01 for _, right in gutters)


def _split(rows: Iterable[Row], gutters: Gaps) -> list[list[Word]]:
    columns: list[list[Word]] = [[] for _ in range(len(gutters) + 1)]
    for row in rows:
        for word in row:
            columns[_column(word, gutters)].append(word)
    return columns


def _is_prose(rows: Sequence[Row], least: float = 0.4) -> bool:
    """Return whether lines are sentences that go on in the next line.

    :param least: share of the lines.
    """
    rows = [row for row in rows if not row[0].table]
    if len(rows) < _MIN_PROSE_LINES:
        return False
    texts = [_text(row) for row in rows]
    right = max(row[-1].right for row in rows)
    width = right - min(row[0].left for row in rows)
    going_on = 0
    for row, text, following in zip(rows, texts, texts[1:], strict=False):
        is_full = row[-1].right > right - 0.25 * width
        going_on += is_full and (following[0].islower() or not _ENDS.search(text))
    words = sum(len(text) // 4 if _WIDE.match(text) else text.count(" ") + 1 for text in texts)
    return going_on >= least * (len(rows) - 1) and words >= 2.5 * len(rows)


def _is_aligned(rows: Sequence[Row], gutters: Gaps) -> bool:
    """Return whether the cells of most columns begin, end or are centered at the same place."""
    aligned = 0
    for column in range(len(gutters) + 1):
        edges: list[list[int]] = [[], [], []]
        for row in rows:
            cell = [word for word in row if _column(word, gutters) == column]
            if cell:
                left, right = cell[0].left, cell[-1].right
                for places, place in zip(edges, (left, right, (left + right) / 2), strict=True):
                    places.append(round(place / _NEAR))
        for places in edges:
            place, _ = Counter(places).most_common(1)[0]
            if sum(abs(other - place) <= 1 for other in places) >= 0.5 * len(places):
                aligned += 1
                break
    return aligned > 0.6 * (len(gutters) + 1)


def _cells(rows: Sequence[Row], gutters: Gaps, separators: Sequence[float]) -> list[list[Cell]]:
    """Return lines as rows of a table, the wrapped lines of a cell together."""
    lines = [_split([row], gutters) for row in rows]
    steps = [after[0].base - before[0].base for before, after in pairwise(rows)]
    least = min(steps, default=0.0)
    has_spacing = sum(step > 1.3 * least for step in steps) >= 0.3 * len(steps)
    inside = [height for height in separators if rows[0][0].base < height < rows[-1][0].base]
    table: list[list[Cell]] = []
    for place, line in enumerate(lines):
        is_new = not table
        if table:
            before, after = rows[place - 1][0].base, rows[place][0].base
            filled = [bool(cell) for cell in line]
            is_wrapped = sum(filled) == 1 and next(filter(None, line))[0].text[0].islower()
            goes_on = not all(filled) or any(cell and cell[0].text[0].islower() for cell in line)
            if len(inside) > 1:
                is_new = any(before < height < after for height in inside)
            elif has_spacing:
                is_new = steps[place - 1] > 1.3 * least or not goes_on
            else:
                is_new = (filled[0] and not is_wrapped) or sum(filled) > max(1, len(filled) / 2)
        if is_new:
            table.append([[] for _ in line])
        for cell, words in zip(table[-1], line, strict=True):
            if words:
                cell.append(words)
    return table


def _is_contents(cells: Sequence[Sequence[Cell]]) -> bool:
    """Return whether rows are a table of contents: titles and page numbers that do not decrease."""
    numbers = []
    for row in cells:
        *chapter, title, number = (" ".join(map(_text, cell)) for cell in row)
        is_chapter = not chapter or (len(chapter) == 1 and _CHAPTER.fullmatch(chapter[0]))
        if not is_chapter or not number.isdecimal() or not _LETTERS.search(title):
            return False
        numbers.append(int(number))
    return len(numbers) > 3 and numbers == sorted(numbers) and numbers[0] < numbers[-1]


# Tables with rules


def _with_tables(words: Sequence[Word], rules: Sequence[Stroke]) -> tuple[list[Word], list[Stroke]]:
    """Return words with one word for each table that has rules around its cells, and the other rules."""
    horizontal = _merged((rule.y0, rule.x0, rule.x1) for rule in rules if rule.y1 - rule.y0 < 1)
    vertical = _merged((rule.x0, rule.y0, rule.y1) for rule in rules if rule.x1 - rule.x0 < 1)
    left_over = list(words)
    if not 1 < len(horizontal) <= _MAX_RULES or not 0 < len(vertical) <= _MAX_RULES:
        return left_over, list(rules)
    for across, down in _grids(horizontal, vertical):
        xs = _places([place for place, _, _ in down] + [end for rule in across for end in rule[1:]])
        ys = _places([place for place, _, _ in across] + [end for rule in down for end in rule[1:]])
        if len(xs) < 3 or len(ys) < 3:
            continue
        inside: list[Word] = []
        outside: list[Word] = []
        for word in left_over:
            x, y = (word.left + word.right) / 2, (word.top + word.bottom) / 2
            is_inside = xs[0] < x < xs[-1] and ys[0] < y < ys[-1] and not word.table
            (inside if is_inside else outside).append(word)
        table = _ruled_cells(inside, xs, ys, across, down)
        if table:
            size = inside[0].size
            outside.append(Word("", xs[0], xs[-1], ys[0], ys[-1], ys[0] + size / 2, size, table=table))
            left_over = outside
    return left_over, list(rules)


Track = tuple[float, float, float]
"""A rule: its height or its distance from the left, and its two ends."""


def _merged(tracks: Iterable[Track]) -> list[Track]:
    """Return rules, with those that lie on one another or follow one another joined."""
    by_place: list[list[Track]] = []
    for track in sorted(tracks):
        if by_place and track[0] - by_place[-1][0][0] < _NEAR:
            by_place[-1].append(track)
        else:
            by_place.append([track])
    merged = []
    for group in by_place:
        place = group[0][0]
        group.sort(key=lambda track: track[1])
        start, end = group[0][1:]
        for _, next_start, next_end in [*group[1:], (place, inf, inf)]:
            if next_start <= end + _NEAR:
                end = max(end, next_end)
                continue
            if end - start > 2 * _NEAR:
                merged.append((place, start, end))
            start, end = next_start, next_end
    return merged


def _grids(horizontal: Sequence[Track], vertical: Sequence[Track]) -> list[tuple[list[Track], list[Track]]]:
    """Return the rules that cross or meet one another, together."""
    grids: list[tuple[list[Track], list[Track]]] = []
    for x, top, bottom in vertical:
        met: tuple[list[Track], list[Track]] = ([], [(x, top, bottom)])
        for y, left, right in horizontal:
            if left - _NEAR <= x <= right + _NEAR and top - _NEAR <= y <= bottom + _NEAR:
                met[0].append((y, left, right))
        apart = []
        for grid in grids:
            if any(track in met[0] for track in grid[0]):
                met[0].extend(track for track in grid[0] if track not in met[0])
                met[1].extend(grid[1])
            else:
                apart.append(grid)
        grids = [*apart, met]
    return [grid for grid in grids if len(grid[0]) > 1]


def _places(values: Iterable[float]) -> list[float]:
    """Return values in order, without those that are near the one before."""
    places: list[float] = []
    for value in sorted(values):
        if not places or value - places[-1] > _NEAR:
            places.append(value)
    return places


def _ruled_cells(
    words: Sequence[Word], xs: list[float], ys: list[float], across: Sequence[Track], down: Sequence[Track]
) -> list[list[Cell]]:
    """Return the rows of a table from the places of its rules, none if it is no table."""
    table: list[list[Cell]] = [[[] for _ in xs[1:]] for _ in ys[1:]]
    for row in _rows(words):
        place = bisect(ys, (row[0].top + row[0].bottom) / 2) - 1
        column = 0
        before = None
        for word in row:
            own = min(max(bisect(xs, (word.left + word.right) / 2) - 1, 0), len(xs) - 2)
            is_near = before is not None and word.left - before.right < _CELL_GAP * word.size
            if not (is_near and not _is_cut(xs[column + 1 : own + 1], word.base, down)):
                column = own
                table[place][column].append([])
            elif not table[place][column]:
                table[place][column].append([])
            table[place][column][-1].append(word)
            before = word
    for column, middle in enumerate((left + right) / 2 for left, right in pairwise(xs)):
        start = 0
        for end in range(1, len(table) + 1):
            # A cell over several rows belongs to each of them.
            if _is_cut([ys[end]], middle, across):
                cell = [line for cells in table[start:end] for line in cells[column]]
                for cells in table[start:end]:
                    cells[column] = cell
                start = end
    table = [cells for cells in table if any(cells)]
    used = [column for column in range(len(xs) - 1) if any(cells[column] for cells in table)]
    table = [[cells[column] for column in used] for cells in table]
    lengths = [sum(len(_text(line)) for line in cell) for row in table for cell in row]
    if len(used) < 2 or len(table) < 2 or max(lengths) > _MAX_CELL:
        return []
    return table


def _is_cut(places: Iterable[float], middle: float, tracks: Sequence[Track]) -> bool:
    """Return whether a rule at one of some places passes a point."""
    reaching = [rule for rule, start, end in tracks if start <= middle <= end]
    return any(abs(rule - place) <= _NEAR for place in places for rule in reaching)


# Blocks


class _Writer:
    """Makes lines and tables blocks."""

    def __init__(self, stream: Sequence[_Line | _Table], body: _Body) -> None:
        self._stream = stream
        self._body = body
        lines = [element for element in stream if isinstance(element, _Line)]
        # A hyphen at the end of a line is kept if the document has the hyphenated word elsewhere.
        self._compounds = {word for line in lines for word in _HYPHENATED.findall(line.text)}
        steps: Counter[float] = Counter()
        for before, line in pairwise(lines):
            if before.flow == line.flow and before.size == line.size:
                steps[round((line.base - before.base) / line.size, 1)] += 1
        self._leading = steps.most_common(1)[0][0] if sum(steps.values()) >= _MIN_STEPS else _LEADING
        words: dict[int, list[Word]] = defaultdict(list)
        for line in lines:
            words[line.page] += line.words
        # A page may have a body of its own: a preface in bold, a slide.
        self._bodies = {page: _body(on_page) for page, on_page in words.items() if _is_full(on_page)}
        styles = {self._style(line) for line in lines if self._looks_like_heading(line)}
        self._levels = {style: min(level, 6) for level, style in enumerate(sorted(styles, reverse=True), 1)}
        self._blocks: list[Block] = []
        self._kind: BlockKind = "paragraph"
        self._lines: list[_Line] = []
        self._notes: list[list[_Line]] = []
        self._indents: list[float] = []
        self._table: _Table | None = None
        self._header: tuple[str, ...] = ()

    def blocks(self) -> list[Block]:
        for element in self._stream:
            if isinstance(element, _Table):
                self._finish()
                self._write_table(element)
            elif element.is_note:
                # Footnotes follow the paragraph that may go on on the next page.
                if self._notes and not _NOTE.match(element.text):
                    self._notes[-1].append(element)
                else:
                    self._notes.append([element])
            else:
                self._add(element)
        self._finish()
        return self._blocks

    def _add(self, line: _Line) -> None:
        kind = self._kind_of(line)
        if not self._lines or not self._goes_on(line, kind):
            self._finish()
            self._kind = kind
        self._lines.append(line)

    def _kind_of(self, line: _Line) -> BlockKind:
        if line.is_mono and not self._body.is_mono:
            return "code"
        is_free = not self._lines or self._is_apart(line)
        if self._looks_like_heading(line) and (is_free or self._is_larger(line)):
            return "heading"
        if _CAPTION.match(line.text) and is_free:
            return "caption"
        marker = _marker(line)
        is_next = self._kind == "item" and bool(self._lines) and abs(line.indent - self._lines[0].indent) < _NEAR
        if marker and (_BULLET.match(marker) or is_free or is_next):
            return "item"
        return "paragraph"

    def _looks_like_heading(self, line: _Line) -> bool:
        if not _LETTERS.search(line.text) or line.is_alone or _BULLET.match(line.text):
            return False
        if self._is_larger(line):
            return len(line.text) <= _MAX_HEADING
        is_usual = self._body.is_bold or self._bodies.get(line.page, self._body).is_bold
        is_bold = line.is_bold and not is_usual and line.size > self._body.size * _NOTE_SIZE
        return is_bold and len(line.text) <= _MAX_BOLD_HEADING and not line.text.endswith((".", ",", ";"))

    def _is_larger(self, line: _Line) -> bool:
        usual = max(self._body.size, self._bodies.get(line.page, self._body).size)
        return line.size > usual * _HEADING_SIZE

    def _style(self, line: _Line) -> tuple[float, bool]:
        return round(line.size * 2) / 2, line.is_bold

    def _is_apart(self, line: _Line) -> bool:
        """Return whether a paragraph ends before a line, by the places of the two lines and their ends."""
        before = self._lines[-1]
        if line.is_alone or before.is_alone:
            return True
        is_unfinished = (line.text[0].islower() and not _marker(line)) or before.text.endswith((",", "-", "\u2013"))
        is_finished = bool(_ENDS.search(before.text))
        first = line.words[0]
        has_room = before.words[-1].right + (first.right - first.left) + 0.8 * line.size < before.right
        if before.flow != line.flow:
            narrow, wide = sorted((before.right - before.left, line.right - line.left))
            is_aside = len(self._lines) == 1 and before.indent > 0.3 * (before.right - before.left)
            if is_aside or (before.page == line.page and narrow < _SAME_WIDTH * wide):
                return True
            return before.depth != line.depth or is_finished or (has_room and not is_unfinished)
        step = line.base - before.base
        usual = self._leading * before.size
        if len(self._lines) > 1 and self._lines[-2].flow == before.flow:
            usual = before.base - self._lines[-2].base
        if not -before.size < step < 1.3 * max(usual, 1.1 * before.size):
            return True
        if has_room:
            return not is_unfinished
        return self._is_indented(line)

    def _is_indented(self, line: _Line) -> bool:
        """Return whether a line begins a paragraph or leaves a list by its indent."""
        before = self._lines[-1]
        moved = line.indent - before.indent
        is_centered = abs(line.center - before.center) < _NEAR and abs(moved) > _NEAR
        if is_centered:
            return False
        if self._kind == "item" and len(self._lines) == 1:
            return moved < -_NEAR
        return moved > 0.8 * line.size or (moved < -0.8 * line.size and len(self._lines) > 1)

    def _goes_on(self, line: _Line, kind: BlockKind) -> bool:
        """Return whether a line belongs to the block before."""
        before = self._lines[-1]
        if kind == "code" or self._kind == "code":
            return kind == self._kind
        if kind == "heading" or self._kind == "heading":
            is_near = before.flow == line.flow and line.base - before.base < 1.8 * line.size
            is_same = kind == self._kind and self._style(line) == self._style(before)
            length = sum(len(each.text) for each in self._lines) + len(line.text)
            return is_near and is_same and length <= _MAX_HEADING and not _marker(line)
        if kind != "paragraph":
            return False
        is_same_size = abs(line.size - before.size) < 0.1 * before.size
        return is_same_size and not self._is_apart(line)

    def _finish(self) -> None:
        """Write the block of the lines so far, and the footnotes."""
        if self._lines:
            self._blocks.append(self._block(self._kind, self._lines))
            self._table = None
        for lines in self._notes:
            self._blocks.append(Block("footnote", self._joined(lines), page=lines[0].page))
        self._lines = []
        self._notes = []

    def _joined(self, lines: Iterable[_Line]) -> str:
        return _joined((line.text for line in lines), self._compounds)

    def _block(self, kind: BlockKind, lines: Sequence[_Line]) -> Block:
        first = lines[0]
        text = self._joined(lines)
        if kind != "item":
            self._indents = []
        if kind == "code":
            return Block("code", _code(lines), page=first.page)
        if kind == "heading":
            return Block("heading", text, self._levels.get(self._style(first), 6), page=first.page)
        if kind == "item":
            while self._indents and first.indent < self._indents[-1] - _NEAR:
                self._indents.pop()
            if not self._indents or first.indent > self._indents[-1] + _NEAR:
                self._indents.append(first.indent)
            marker = _marker(first)
            text = text[len(marker) :].lstrip()
            is_numbered = any(char.isalnum() for char in marker)
            return Block("item", text, len(self._indents), marker if is_numbered else "", page=first.page)
        return Block(kind, text, page=first.page)

    def _write_table(self, table: _Table) -> None:
        rows = [tuple(_joined(map(_text, cell), self._compounds) for cell in row) for row in table.rows]
        goes_on = self._table and self._table.page < table.page and len(self._table.rows[0]) == len(rows[0])
        while not goes_on and len(rows) > 2 and sum(map(bool, rows[0])) == 1:
            self._blocks.append(Block("caption", "".join(rows.pop(0)), page=table.page))
            table.rows.pop(0)
        if not goes_on:
            self._header = rows[0] if _is_header(table.rows, rows) else ()
        for place, cells in enumerate(rows):
            is_header = place == 0 and cells == self._header
            if not (is_header and goes_on):
                self._blocks.append(Block("header" if is_header else "row", cells=cells, page=table.page))
        self._table = table
        self._indents = []


def _is_full(words: Iterable[Word]) -> bool:
    return sum(len(word.text) for word in words) >= _FULL_PAGE


def _marker(line: _Line) -> str:
    """Return the bullet or number that begins a line, or ""."""
    first, *others = line.words
    if others:
        is_far = others[0].left - first.right > _CELL_GAP * first.size
        is_marker = _BULLET.fullmatch(first.text) or _MARKER.fullmatch(first.text)
        if is_marker or (is_far and _BARE_MARKER.fullmatch(first.text)):
            return first.text
    attached = _BULLET.match(first.text)
    return attached[0] if attached and len(first.text) > 1 and attached[0] != "*" else ""


def _code(lines: Sequence[_Line]) -> str:
    """Return lines of code with their indents."""
    left = min(line.words[0].left for line in lines)
    written = []
    for line in lines:
        word = max(line.words, key=lambda word: len(word.text))
        width = (word.right - word.left) / len(word.text)
        text = ""
        for each in line.words:
            column = round((each.left - left) / width)
            text = text.ljust(column) + each.text
        written.append(text)
    return "\n".join(written)


def _is_header(cells: Sequence[Sequence[Cell]], rows: Sequence[tuple[str, ...]]) -> bool:
    """Return whether the first row differs from the others: bold, or without the digits that they have."""
    bold = [all(word.is_bold for cell in row for line in cell for word in line) for row in cells]
    if bold[0] and not all(bold[1:]):
        return True
    has_digits = [any(map(str.isdigit, _YEAR.sub("", " ".join(row)))) for row in rows]
    is_full = sum(map(bool, rows[0])) > len(rows[0]) / 2 and not rows[0][0].endswith(":")
    return is_full and not has_digits[0] and sum(has_digits[1:]) > len(rows[1:]) / 2
