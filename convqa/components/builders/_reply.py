"""Parsing of replies with markers such as ``[1]`` into plain sentences with the numbers they cite."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from convqa.components.builders._prompt import NO_ANSWER
from convqa.files import replace_surrogates
from convqa.text.sentences import sentences

_LONGEST = 20_000
"""Maximum characters of a reply; the rest is ignored."""

_MOST = 40
"""Maximum sentences of a reply; the rest is ignored."""

_THOUGHTS = re.compile(r"\A.*</(?:think|thinking|thought|reasoning|analysis)>", re.S | re.I)
_OPEN_THOUGHT = re.compile(r"<(?:think|thinking|thought|reasoning|analysis)>.*\Z", re.S | re.I)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n`]*$", re.M)
_IMAGE = re.compile(r"!\[[^\]\n]{0,300}\]\([^()\n]{0,2000}\)")
_LINK = re.compile(r"\[([^\[\]\n]{1,300})\]\([^()\n]{0,2000}\)")
_SOURCES = re.compile(
    r"(?:sources?|references?|citations?|quellen|literatur|fuentes|\u51fa\u5178|\u53c2\u8003\u6587\u732e)\s*[:\uff1a]?",
    re.I,
)
_STRUCTURE = re.compile(r"(?:[ \t]*(?:[-*+\u2022>]|#{1,6}|\d{1,2}[.)])[ \t]+)+")
_ITEM = re.compile(r"(\d{1,2})[.)]|[-*+\u2022]")
_EMPHASIS = re.compile(
    r"(\*\*|__)(?=\S)([^\n]{1,300}?)(?<=\S)\1|(?<![\w*])\*(?=[^\s*])([^*\n]{1,300}?)(?<=\S)\*(?![\w*])"
)
_NO_ANSWER = re.compile(rf"\A\W*{NO_ANSWER}\b|\b{NO_ANSWER}\W*\Z", re.I)

_NUMBER = (
    r"(?:(?:passages?|sources?|documents?|quellen?|\u8cc7\u6599)\s{0,2}|[#^\u2191])?\d{1,3}"
    r"(?:\s{0,2}[-\u2010-\u2015~\u301c\uff0d]\s{0,2}\d{1,3})?"
)
_MARKER = re.compile(
    rf"(?P<code>`[^`\n]{{1,300}}`)|[ \t]{{0,3}}[\[\u3010\uff3b\u3014]\s{{0,2}}(?P<numbers>{_NUMBER}"
    rf"(?:\s{{0,2}}(?:[,;&\u3001\uff0c\uff1b]|and\b|und\b)\s{{0,2}}{_NUMBER}){{0,20}})"
    r"(?:\u2020[^\]\u3011\n]{0,60})?\s{0,2}[\]\u3011\uff3d\u3015]",
    re.I,
)
_RANGE = re.compile(r"(\d{1,3})(?:\s{0,2}[-\u2010-\u2015~\u301c\uff0d]\s{0,2}(\d{1,3}))?")
_WORD = re.compile(r"\w")
_COLON = re.compile(r"\A\s{0,3}[:.\u2013\u2014-](?=\s)")
_ENDING = frozenset(".!?:;\u3002\uff01\uff1f]")
_CLOSING = frozenset(".,;:!?\u3002\uff0c\uff01\uff1f")

GOES_ON = "+"


class Claim(NamedTuple):
    """A sentence of a reply without its markers, and the distinct numbers of the passages that it cites, in order.

    ``item``: the mark of the list item that it begins, "2." or "-"; ``GOES_ON`` if it continues an item; otherwise "".
    """

    text: str
    numbers: tuple[int, ...]
    item: str = ""


class Parsed(NamedTuple):
    """A parsed reply. ``strange`` counts the numbers without a passage."""

    said: tuple[Claim, ...] = ()
    declined: bool = False
    strange: int = 0


def parse(reply: str, passages: int, language: str) -> Parsed:
    """Return the sentences of a reply to a prompt with this many passages.

    Thoughts (``<think>``), code fences, Markdown, URLs of links, images, and a final list of sources are removed. A
    marker belongs to the sentence that contains or precedes it; at the start of a line, to the following one. Numbers
    without a passage are removed and counted. ``[0]``, ``[2008]`` and code in backticks are not markers.

    >>> parse("Goethe wrote it. [1][7] He lived in Weimar [2, 3].", 3, "en").said[1]
    Claim(text='He lived in Weimar.', numbers=(2, 3), item='')
    """
    text = _plain(reply)
    if _NO_ANSWER.search(_bare(text)):
        return Parsed(declined=True)
    claims: list[Claim] = []
    strange = 0
    for item, line in _lines(text):
        in_line, outside = _marked(line, passages, language)
        strange += outside
        for claim in in_line:
            if _WORD.search(claim.text):
                claims.append(claim._replace(item=item))
                item = item and GOES_ON
            elif claims:
                # Markers without words belong to the previous sentence.
                numbers = dict.fromkeys([*claims[-1].numbers, *claim.numbers])
                claims[-1] = claims[-1]._replace(numbers=tuple(numbers))
    if sum(bool(claim.item) and claim.item != GOES_ON for claim in claims) == 1:
        claims = [claim._replace(item="") for claim in claims]  # a single item is not a list
    return Parsed(tuple(claims[:_MOST]), strange=strange)


def unfinished(text: str) -> str:
    """Return a truncated reply without its last, incomplete sentence.

    >>> unfinished("Goethe wrote it [1]. He lived in")
    'Goethe wrote it [1].'
    """
    ends = [match.end() for match in re.finditer(r"[.!?\u3002\uff01\uff1f](?:\s{0,2}\[[\d, ]{1,20}\])*|\n", text)]
    return text[: ends[-1]] if ends else ""


def _plain(reply: str) -> str:
    text = str(replace_surrogates(reply[:_LONGEST])).replace("\r\n", "\n").replace("\r", "\n")
    text = _OPEN_THOUGHT.sub("", _THOUGHTS.sub("", text))
    text = _LINK.sub(_link, _IMAGE.sub("", _FENCE.sub("", text)))
    return "".join(letter for letter in text if letter.isprintable() or letter in "\n\t\u200c\u200d\u3000\u00a0")


def _link(match: re.Match[str]) -> str:
    # [1](https://...) is a marker with a URL; of other links, the text is kept.
    marker = f"[{match[1]}]"
    return marker if _MARKER.fullmatch(marker) else match[1]


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield (mark of the list item, line without Markdown). A line that begins in lower case after an open sentence
    continues the line before."""
    open_item = open_line = ""
    for line in text.splitlines():
        structure = _STRUCTURE.match(line)
        bare = _EMPHASIS.sub(lambda match: match[2] or match[3], line[structure.end() if structure else 0 :]).strip()
        if _SOURCES.fullmatch(_bare_label(bare)):
            break
        goes_on = bool(open_line) and not structure and bare[:1].islower() and open_line[-1] not in _ENDING
        if goes_on:
            open_line += " " + bare
            continue
        if open_line:
            yield open_item, open_line
        items = list(_ITEM.finditer(structure[0])) if structure else []
        open_item = f"{items[-1][1]}." if items and items[-1][1] else "-" if items else ""
        open_line = bare
    if open_line:
        yield open_item, open_line


def _bare(text: str) -> str:
    return _MARKER.sub(lambda match: match["code"] or "", text)


def _bare_label(line: str) -> str:
    """Return a line up to its colon, if only markers and addresses follow it."""
    label, colon, rest = line.partition(":")
    listed = [word for word in _bare(rest).split() if "//" not in word and "www." not in word]
    return label + colon if colon and not _WORD.search(" ".join(listed)) else line


def _marked(line: str, passages: int, language: str) -> tuple[list[Claim], int]:
    """Return the sentences of a line with their numbers, and how many numbers have no passage."""
    plain, marks, strange = _without_markers(line, passages)
    bounds = sentences(plain, language) or ([(0, 0)] if marks else [])
    named: list[list[int]] = [[] for _ in bounds]
    for position, numbers in marks:
        before = [index for index, (start, _) in enumerate(bounds) if start < position]
        named[before[-1] if before else 0] += numbers
    texts = (" ".join(plain[start:end].split()) for start, end in bounds)
    return [Claim(text, tuple(dict.fromkeys(some))) for text, some in zip(texts, named, strict=True)], strange


def _without_markers(line: str, passages: int) -> tuple[str, list[tuple[int, list[int]]], int]:
    """Return the line without markers, the (position, numbers) of each marker, and how many numbers have no passage."""
    plain = ""
    marks: list[tuple[int, list[int]]] = []
    strange = last = 0
    for match in _MARKER.finditer(line):
        numbers = _numbers(match["numbers"]) if match["numbers"] else None
        if numbers is None:
            continue
        piece = line[last : match.start()]
        plain += _behind(piece, len(plain)) if marks else piece
        kept = [number for number in numbers if number <= passages]
        strange += len(numbers) - len(kept)
        marks.append((len(plain), kept))
        last = match.end()
    return plain + (_behind(line[last:], len(plain)) if marks else line), marks, strange


def _behind(text: str, length: int) -> str:
    """Join the text after a removed marker: keep words apart, move a full stop up, remove the colon of "[1]: "."""
    if not length:
        return _COLON.sub("", text)
    if text[:1].isalnum():
        return " " + text
    return text.lstrip() if text.lstrip()[:1] in _CLOSING else text


def _numbers(text: str) -> list[int] | None:
    """Parse ``"1, 3-5"``. Return None if it has a zero, as intervals may, or a descending range."""
    numbers: list[int] = []
    for match in _RANGE.finditer(text):
        first = int(match[1])
        last = int(match[2]) if match[2] else first
        if not first or last < first:
            return None
        numbers += range(first, min(last, first + 20) + 1)
    return numbers
