"""Choose the part of a sentence to quote, and format quotes for display.

A citation points at the quoted characters. The displayed quote collapses white space and omits footnote marks, link
targets and the remains of emptied brackets.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, zip_longest

from convqa.domain import Passage, Unit
from convqa.text.english import prose
from convqa.text.sentences import MAX_SENTENCE_CHARS, sentences
from convqa.text.units import units

_LEAD = re.compile(r"(?:[*\u2022\u25aa#|:;,]+\s*|(?:[>\u00b7\u2013\u2014-]+|\d{1,2}[.)])\s+|\[\w{1,3}\]\s*)+")
_NOTE = re.compile(r"\s*\[(?:\d{1,3}|[a-z]|(?:note|nb) \d{1,2}|citation needed|edit)\]")
_TAIL = re.compile(rf"(?:{_NOTE.pattern}|(?<=[.!?:;])\s+\(?\d{{1,2}}[.)])+\Z")
"""Footnote marks, and the number of the next list item."""
_LINK = re.compile(r"!?\[([^][]+)\]\((?:[^\s()]|\([^\s()]*\))*\)")
_MAX_ODDS_OF_HEADING = -1.0
_MAX_ODDS_OF_HEADING_IN_LINE = -6.5
"""Log odds of fitness below which a heading is cut off a sentence: at the start of a line, and within a line."""

_MAX_QUOTE_CHARS = 700
"""Maximum length of a quote assembled from parts."""

_MAX_ABBREVIATION_CHARS = 6
_MAX_JUDGED_CHARS = 10_000
"""The rest of a longer passage is not judged."""

COLONS = (":", "\uff1a")
"""The end of a line that introduces a list."""

_EMPTY = re.compile(r"\s\((?:[\s,;:]|\b(?:or|and|from)\b)*\)|(?<=\()\s*[;,][;,\s]*")
_LOST = re.compile(r"\b(?:of|from|to|by|as|being|the|a|an|than|with|called|about)  (?=[a-z])")
_BROKEN = re.compile(
    r"</|/>|(?<![-'\u2019\w])(?:(?:the|an|than|The)\s*[;,)]|[Aa] ,|(?:than|the)\s*\.(?!\w)"
    r")|\s\"[.,]?\"(?=[\s.,]|$)"
)
"""Markup, and gaps where a formula, a unit or a foreign word is missing from the text."""
_BROKEN_ATTACHED = re.compile(
    r"\b(?:of|with|called|named|from|between|approximately|is|was|are|were|as|by|for|to|and|or|at|in)"
    r"(?: [,;)]| \.(?!\w))"
)
_ATTACHED = re.compile(r"[a-z][,.] [A-Za-z]")
"""A text with no space before commas and full stops, in which ``_BROKEN_ATTACHED`` also marks a gap."""


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table, with the table's caption or the heading above it, and its header row, empty if it has none."""

    caption: str
    header: list[str]
    cells: list[str]


def whole_units(
    passage: Passage,
    start: int,
    end: int,
    language: str,
) -> list[Unit]:
    """Return the units that the characters ``[start, end)`` of a passage touch, without headings and header rows."""
    touched = [unit for unit in units(passage, language) if unit.start < end and unit.end > start]
    return [unit for unit in touched if unit.is_quotable]


def quotable_units(
    passage: Passage,
    start: int,
    end: int,
    language: str,
) -> tuple[int, int] | None:
    """Return the characters to quote for ``[start, end)``: whole units, or None if there are none fit to be quoted.

    The sentences of web pages are judged (:func:`quotable`), since menus and ads are among them. The units of
    documents are known.
    """
    bounds = []
    for unit in whole_units(passage, start, end, language):
        bound: tuple[int, int] | None = (unit.start, unit.end)
        if is_web(passage):
            bound = quotable(passage.text, unit.start, unit.end, language)
        if bound is None:
            return None
        bounds.append(bound)
    return (bounds[0][0], bounds[-1][1]) if bounds else None


def is_web(passage: Passage) -> bool:
    """Return whether a passage is of a web page, as its ``meta.kind`` says, or else its address."""
    kind = passage.meta.get("kind")
    return kind == "web" or (kind != "documents" and not passage.units and "://" in (passage.url or passage.id))


def shown_unit(passage: Passage, unit: Unit) -> str:
    """Return a unit as displayed: a row as a sentence, and an item after its introduction.

    >>> row = Unit(0, 30, "row", "Entry fees", "| | Weekday | Weekend |")
    >>> shown_unit(Passage("a", "| Children | €3.50 | €4.50 |"), row)
    'Entry fees, Children: Weekday €3.50, Weekend €4.50'
    """
    text = passage.text[unit.start : unit.end]
    if unit.kind == "row":
        return _row_sentence(table_row(passage, unit))
    if unit.kind in ("item", "step") and unit.context.endswith(COLONS):
        return shown(f"{unit.context} {text}")
    return shown(text)


def table_row(passage: Passage, unit: Unit) -> TableRow:
    """Return a unit that is a row by its cells."""
    caption, _, header = unit.context.rpartition("\n")
    lead = shown(caption) or unit.heading.rpartition(" > ")[2]
    return TableRow(
        lead,
        _cells(header) if header else [],
        _cells(passage.text[unit.start : unit.end]),
    )


def _row_sentence(row: TableRow) -> str:
    first, *cells = row.cells
    values = [f"{name} {cell}".strip() for name, cell in zip_longest(row.header[1:], cells, fillvalue="") if cell]
    subject = ", ".join(filter(None, (row.caption, first)))
    return f"{subject}: {', '.join(values)}" if values else subject


def _cells(row: str) -> list[str]:
    cells = re.split(r"(?<!\\)\|", row.strip().removeprefix("|").removesuffix("|"))
    return [cell.strip().replace("\\|", "|") for cell in cells]


def quotable(
    text: str,
    start: int,
    end: int,
    language: str,
) -> tuple[int, int] | None:
    """Return the characters ``[start, end)`` of a sentence to quote, or None if it is unfit to be quoted.

    Omits surrounding bullets, numbers and footnote marks. English sentences are also judged for fitness, lose a heading
    that runs into them, and are restored where they were cut at an abbreviation or for their length.

    >>> text = "* Contact Us Privacy Policy [3] Ada wrote notes on the engine in 1843.[4] Menu Home Shop"
    >>> quotable(text, 0, 27, "en"), quotable(text, 28, 73, "en")
    (None, (32, 70))
    """
    # English is the default language; the passages may be in another.
    is_english = language == "en" and 2 * sum(map(str.isascii, text[start:end])) > end - start
    if is_english:
        start, end = _grown(text, start, end)
    lead = _LEAD.match(text, start, end)
    if lead:
        start = lead.end()
    tail = _TAIL.search(text, start, end)
    if tail:
        end = tail.start()
    # Wikipedia's references begin with a caret.
    if start >= end or text[start] == "^":
        return None
    if not is_english:
        return start, end
    begin, fitness = judged(text, start, end)
    return (begin, end) if fitness >= prose.FIT else None


def _grown(text: str, start: int, end: int) -> tuple[int, int]:
    """Add the parts before and after, where one sentence was cut at an abbreviation or for its length."""
    # Skips very long texts: their sentences are not cached, and splitting them again each time would be slow.
    if len(text) > _MAX_JUDGED_CHARS:
        return start, end
    for (first, last), (begin, stop) in pairwise(sentences(text, "en")):
        if not _continues(text, first, last, begin):
            continue
        if last == end and stop - start <= _MAX_QUOTE_CHARS:
            end = stop
        elif begin == start and end - first <= _MAX_QUOTE_CHARS:
            start = first
    return start, end


def _continues(text: str, first: int, last: int, begin: int) -> bool:
    """Return whether the sentence that begins at ``begin`` continues that of the characters ``[first, last)``."""
    if "\n" in text[last:begin]:
        return False
    is_closed = text[last - 1] in prose.CLOSING
    if text[begin].islower():
        abbreviation = prose.ABBREVIATED.search(
            text,
            max(0, last - _MAX_ABBREVIATION_CHARS),
            last,
        )
        if not is_closed or abbreviation:
            return True
    return not is_closed and last - first > MAX_SENTENCE_CHARS // 2


def judged(text: str, start: int, end: int) -> tuple[int, float]:
    """Return where an English sentence begins after a heading, and its fitness to be quoted, 0 to 1.

    The network sometimes takes names for headings, so a cut needs high confidence, especially within a line.
    """
    cut, odds = prose.judged(text[start:end])
    begin = start + cut
    quote = shown(text[begin:end])
    attached = _BROKEN_ATTACHED.search(quote) and _ATTACHED.search(text)
    if attached or _BROKEN.search(quote) or _LOST.search(text, begin, end):
        return begin, 0.0
    is_in_line = text[begin - 1] == " " and "\n" in text and "\n" not in text[start:begin]
    max_odds = _MAX_ODDS_OF_HEADING_IN_LINE if is_in_line else _MAX_ODDS_OF_HEADING
    if odds < max_odds:
        start = begin
    if quote != text[begin - cut : end]:
        odds = prose.judged(quote)[1]
    return start, prose.fitness(odds, share_of_prose(text[:_MAX_JUDGED_CHARS]))


@lru_cache(4096)
def share_of_prose(text: str) -> float:
    """Return the share of a passage's sentences that are fit to be quoted, smoothed by three more fit ones.

    A line without closing punctuation before an empty line is a heading, not a sentence.
    """
    fit = 3
    count = 3
    for start, end in sentences(text):
        is_heading = text[end : end + 2] == "\n\n" and text[end - 1] not in prose.CLOSING
        if is_heading:
            continue
        sentence = text[start:end]
        begin, _ = prose.judged(sentence)
        _, odds = prose.judged(sentence[begin:])
        fit += odds > 0
        count += 1
    return fit / count


def shown(quote: str) -> str:
    """Return a quote as displayed. A quote that would become empty keeps its text.

    >>> shown("Haiti (; French: Ha\u00efti)  is  [a country](https://a.org/H_(land)).[12] It lies [a] in the west.")
    'Haiti (French: Ha\u00efti) is a country. It lies in the west.'
    """
    without_notes = _NOTE.sub("", quote)
    without_links = _LINK.sub(r"\1", without_notes)
    cleaned = html.unescape(_EMPTY.sub("", without_links))
    return " ".join(cleaned.split()) or " ".join(quote.split())
