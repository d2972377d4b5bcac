"""Choose the part of a sentence to quote, and format quotes for display.

A citation points at the quoted characters. The displayed quote collapses white space and omits footnote marks, link
targets and the remains of emptied brackets.
"""

from __future__ import annotations

import html
import re
from itertools import pairwise

from convqa.text import cache
from convqa.text.english import prose
from convqa.text.sentences import LONGEST, sentences

_LEAD = re.compile(r"(?:[*\u2022\u25aa#|:;,]+\s*|(?:[>\u00b7\u2013\u2014-]+|\d{1,2}[.)])\s+|\[\w{1,3}\]\s*)+")
_NOTE = re.compile(r"\s*\[(?:\d{1,3}|[a-z]|(?:note|nb) \d{1,2}|citation needed|edit)\]")
_TAIL = re.compile(rf"(?:{_NOTE.pattern}|(?<=[.!?:;])\s+\(?\d{{1,2}}[.)])+\Z")
"""Footnote marks, and the number of the next list item."""
_LINK = re.compile(r"!?\[([^][]+)\]\(\S*?\)")
_SURE, _CERTAIN = -1.0, -6.5
"""Log odds of fitness below which a heading is cut off a sentence: at the start of a line, and within a line."""
_LONGEST = 700
"""Maximum characters of a quote assembled from parts."""
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


def quotable(text: str, start: int, end: int, language: str) -> tuple[int, int] | None:
    """Return the characters ``[start, end)`` of a sentence to quote, or None if it is unfit to be quoted.

    Omits surrounding bullets, numbers and footnote marks. English sentences are also judged for fitness, lose a heading
    that runs into them, and are restored where they were cut at an abbreviation or for their length.

    >>> text = "* Contact Us Privacy Policy [3] Ada wrote notes on the engine in 1843.[4] Menu Home Shop"
    >>> quotable(text, 0, 27, "en"), quotable(text, 28, 73, "en")
    (None, (32, 70))
    """
    # English is the default language; the passages may be in another.
    english = language == "en" and 2 * sum(map(str.isascii, text[start:end])) > end - start
    if english:
        start, end = _grown(text, start, end)
    if lead := _LEAD.match(text, start, end):
        start = lead.end()
    if tail := _TAIL.search(text, start, end):
        end = tail.start()
    if start >= end:
        return None
    if not english:
        return start, end
    begin, fitness = judged(text, start, end)
    return (begin, end) if fitness >= prose.FIT else None


def _grown(text: str, start: int, end: int) -> tuple[int, int]:
    """Add the parts before and after, where one sentence was cut at an abbreviation or for its length."""
    # Skips very long texts: their sentences are not cached, and splitting them again each time would be slow.
    for (first, last), (begin, stop) in pairwise(sentences(text, "en") if len(text) <= cache.MAX_CHARS else ()):
        whole = text[last - 1] in prose.CLOSING
        continues = "\n" not in text[last:begin] and (
            (text[begin].islower() and (not whole or prose.ABBREVIATED.search(text, max(0, last - 6), last)))
            or (not whole and last - first > LONGEST // 2)
        )
        if continues and last == end and stop - start <= _LONGEST:
            end = stop
        elif continues and begin == start and end - first <= _LONGEST:
            start = first
    return start, end


def judged(text: str, start: int, end: int) -> tuple[int, float]:
    """Return where an English sentence begins after a heading, and its fitness to be quoted, 0 to 1.

    The network sometimes takes names for headings, so a cut needs high confidence, especially within a line.
    """
    cut, odds = prose.judged(text[start:end])
    begin = start + cut
    quote = shown(text[begin:end])
    within = text[begin - 1] == " " and "\n" in text and "\n" not in text[start:begin]
    sure = odds < (_CERTAIN if within else _SURE)
    attached = _BROKEN_ATTACHED.search(quote) and _ATTACHED.search(text)
    if attached or _BROKEN.search(quote) or _LOST.search(text, begin, end):
        return begin, 0.0
    if quote != text[start:end]:
        odds = prose.judged(quote)[1]
    return begin if sure else start, prose.among(odds, share_of_prose(text[: cache.MAX_CHARS]))


@cache.remembered(4096)
def share_of_prose(text: str) -> float:
    """Return the share of a passage's sentences that are fit to be quoted, smoothed by three more fit ones.

    A line without closing punctuation before an empty line is a heading, not a sentence.
    """
    spans = sentences(text)
    whole = [text[i:j] for i, j in spans if text[j : j + 2] != "\n\n" or text[j - 1] in prose.CLOSING]
    begun = [sentence[prose.judged(sentence)[0] :] for sentence in whole]
    return (3 + sum(prose.judged(sentence)[1] > 0 for sentence in begun)) / (3 + len(whole))


def shown(quote: str) -> str:
    """Return a quote as displayed. A quote that would become empty keeps its text.

    >>> shown("Haiti (; French: Ha\u00efti)  is  [a country](https://a.org).[12] It lies [a] in the west.")
    'Haiti (French: Ha\u00efti) is a country. It lies in the west.'
    """
    cleaned = _EMPTY.sub("", _LINK.sub(r"\1", _NOTE.sub("", quote)))
    return " ".join(html.unescape(cleaned).split()) or " ".join(quote.split())
