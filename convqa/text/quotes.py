"""The part of a sentence that is quoted, and the form in which a quote is shown.

A citation points at the characters that are quoted. What is shown of them is the same text in single blanks, without
the marks of footnotes, the addresses of links, and what was left empty at a bracket.
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
"""Footnote marks, and the number of the next item of a list."""
_LINK = re.compile(r"!?\[([^][]+)\]\(\S*?\)")
_SURE, _CERTAIN = -1.0, -6.5
"""Log odds of a sentence that it is fit as it stands, below which a heading is cut off it; within one of many lines."""
_LONGEST = 700
"""Characters of a quote that is put together from parts."""
_EMPTY = re.compile(r"\s\((?:[\s,;:]|\b(?:or|and|from)\b)*\)|(?<=\()\s*[;,][;,\s]*")
_LOST = re.compile(r"\b(?:of|from|to|by|as|being|the|a|an|than|with|called|about)  (?=[a-z])")
_BROKEN = re.compile(
    r"</|/>|(?<![-'\u2019\w])(?:(?:the|an|than|The)\s*[;,)]|[Aa] ,|(?:than|the)\s*\.(?!\w)"
    r")|\s\"[.,]?\"(?=[\s.,]|$)"
)
"""Markup; and where a formula, a unit or a foreign word was left out of the text."""
_BROKEN_ATTACHED = re.compile(
    r"\b(?:of|with|called|named|from|between|approximately|is|was|are|were|as|by|for|to|and|or|at|in)"
    r"(?: [,;)]| \.(?!\w))"
)
_ATTACHED = re.compile(r"[a-z][,.] [A-Za-z]")
"""The same in a text whose commas and full stops stand at their words."""


def quotable(text: str, start: int, end: int, language: str) -> tuple[int, int] | None:
    """The characters ``[start, end)`` of a sentence that may be quoted; None where it is not fit to be quoted.

    It is quoted without the bullets, numbers and footnote marks around it; in English, where alone it is judged, also
    without a heading that runs into it, and whole where it was cut at an abbreviation or for its length.

    >>> text = "* Contact Us Privacy Policy [3] Ada wrote notes on the engine in 1843.[4] Menu Home Shop"
    >>> quotable(text, 0, 27, "en"), quotable(text, 28, 73, "en")
    (None, (32, 70))
    """
    # Whoever names no language asks in English; the passages may be in another.
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
    """With the parts before and behind, where one sentence was cut at an abbreviation or for its length."""
    # Sentences of very long texts are not remembered, and finding them again and again would take long.
    for (first, last), (begin, stop) in pairwise(sentences(text, "en") if len(text) <= cache.LONGEST else ()):
        whole = text[last - 1] in prose.CLOSING
        one = "\n" not in text[last:begin] and (
            (text[begin].islower() and (not whole or prose.ABBREVIATED.search(text, max(0, last - 6), last)))
            or (not whole and last - first > LONGEST // 2)
        )
        if one and last == end and stop - start <= _LONGEST:
            end = stop
        elif one and begin == start and end - first <= _LONGEST:
            start = first
    return start, end


def judged(text: str, start: int, end: int) -> tuple[int, float]:
    """Where an English sentence begins, behind a heading, and how fit it is to be quoted, 0 to 1.

    Names are taken for headings at times: in doubt nothing is cut, least of all within a line of a passage of several.
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
    return begin if sure else start, prose.among(odds, share_of_prose(text[: cache.LONGEST]))


@cache.remembered(4096)
def share_of_prose(text: str) -> float:
    """The share of a passage's sentences that are fit to be quoted, by themselves; three more count as fit.

    A line before an empty one, without a mark at its end, is a heading and no sentence.
    """
    places = sentences(text)
    whole = [text[i:j] for i, j in places if text[j : j + 2] != "\n\n" or text[j - 1] in prose.CLOSING]
    begun = [sentence[prose.judged(sentence)[0] :] for sentence in whole]
    return (3 + sum(prose.judged(sentence)[1] > 0 for sentence in begun)) / (3 + len(whole))


def shown(quote: str) -> str:
    """A quote as it is read; one of which nothing would be left, as it is.

    >>> shown("Haiti (; French: Ha\u00efti)  is  [a country](https://a.org).[12] It lies [a] in the west.")
    'Haiti (French: Ha\u00efti) is a country. It lies in the west.'
    """
    left = _EMPTY.sub("", _LINK.sub(r"\1", _NOTE.sub("", quote)))
    return " ".join(html.unescape(left).split()) or " ".join(quote.split())
