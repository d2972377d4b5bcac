"""From a reply with markers such as ``[1]`` to plain sentences, each with the numbers that it names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from convqa.components.builders._prompt import NO_ANSWER
from convqa.files import mend
from convqa.text.sentences import sentences

_LONGEST = 20_000
"""Characters of a reply that are read."""

_MOST = 40
"""Sentences of a reply that are looked at."""

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
    """A sentence of a reply without its markers, and the numbers of passages that it names, in order, each once.

    ``item``: the mark of the list's item that it begins, "2." or "-"; ``GOES_ON`` where it goes on in one; else "".
    """

    text: str
    numbers: tuple[int, ...]
    item: str = ""


class Parsed(NamedTuple):
    """A reply as it is understood. ``strange``: how many numbers are those of no passage."""

    said: tuple[Claim, ...] = ()
    declined: bool = False
    strange: int = 0


def parse(reply: str, passages: int, language: str) -> Parsed:
    """The sentences of a reply to a prompt with so many passages.

    Left out are thoughts (``<think>``), code fences, marks of markdown, addresses behind links, images, and a list of
    sources at the end. A marker belongs to the sentence that it stands in or behind; at the start of a line to the
    sentence after it. Numbers of no passage are left out and counted. ``[0]``, ``[2008]`` and what stands between
    backticks are no markers.

    >>> parse("Goethe wrote it. [1][7] He lived in Weimar [2, 3].", 3, "en").said[1]
    Claim(text='He lived in Weimar.', numbers=(2, 3), item='')
    """
    text = _plain(reply)
    if _NO_ANSWER.search(_bare(text)):
        return Parsed(declined=True)
    found: list[Claim] = []
    strange = 0
    for item, line in _lines(text):
        said, outside = _marked(line, passages, language)
        strange += outside
        for one in said:
            if _WORD.search(one.text):
                found.append(one._replace(item=item))
                item = item and GOES_ON
            elif found:
                # Markers or signs alone belong to what was said before them.
                numbers = dict.fromkeys([*found[-1].numbers, *one.numbers])
                found[-1] = found[-1]._replace(numbers=tuple(numbers))
    if sum(bool(one.item) and one.item != GOES_ON for one in found) == 1:
        found = [one._replace(item="") for one in found]  # one item is no list
    return Parsed(tuple(found[:_MOST]), strange=strange)


def unfinished(text: str) -> str:
    """A reply that was cut off, without the sentence in which it was.

    >>> unfinished("Goethe wrote it [1]. He lived in")
    'Goethe wrote it [1].'
    """
    ends = [place.end() for place in re.finditer(r"[.!?\u3002\uff01\uff1f](?:\s{0,2}\[[\d, ]{1,20}\])*|\n", text)]
    return text[: ends[-1]] if ends else ""


def _plain(reply: str) -> str:
    text = str(mend(reply[:_LONGEST])[0]).replace("\r\n", "\n").replace("\r", "\n")
    text = _OPEN_THOUGHT.sub("", _THOUGHTS.sub("", text))
    text = _LINK.sub(_link, _IMAGE.sub("", _FENCE.sub("", text)))
    return "".join(letter for letter in text if letter.isprintable() or letter in "\n\t\u200c\u200d\u3000\u00a0")


def _link(found: re.Match[str]) -> str:
    # [1](https://...) is a marker with an address; the address of any other link is not said.
    marker = f"[{found[1]}]"
    return marker if _MARKER.fullmatch(marker) else found[1]


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Lines, each behind the mark of the list's item that it is, without marks of structure; one that goes on in lower
    case after an open sentence is part of it."""
    open_item = open_line = ""
    for line in text.splitlines():
        structure = _STRUCTURE.match(line)
        bare = _EMPHASIS.sub(lambda place: place[2] or place[3], line[structure.end() if structure else 0 :]).strip()
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
    return _MARKER.sub(lambda found: found["code"] or "", text)


def _bare_label(line: str) -> str:
    """A line up to its colon, where nothing but markers and addresses follows it."""
    label, colon, rest = line.partition(":")
    listed = [word for word in _bare(rest).split() if "//" not in word and "www." not in word]
    return label + colon if colon and not _WORD.search(" ".join(listed)) else line


def _marked(line: str, passages: int, language: str) -> tuple[list[Claim], int]:
    """The sentences of a line with their numbers, and how many numbers are those of no passage."""
    plain, marks, strange = _without_markers(line, passages)
    bounds = sentences(plain, language) or ([(0, 0)] if marks else [])
    named: list[list[int]] = [[] for _ in bounds]
    for place, numbers in marks:
        before = [index for index, (start, _) in enumerate(bounds) if start < place]
        named[before[-1] if before else 0] += numbers
    texts = (" ".join(plain[start:end].split()) for start, end in bounds)
    return [Claim(text, tuple(dict.fromkeys(some))) for text, some in zip(texts, named, strict=True)], strange


def _without_markers(line: str, passages: int) -> tuple[str, list[tuple[int, list[int]]], int]:
    """The line without its markers; where each stood in what is left, with its numbers; how many are of no passage."""
    plain = ""
    marks: list[tuple[int, list[int]]] = []
    strange = last = 0
    for found in _MARKER.finditer(line):
        numbers = _numbers(found["numbers"]) if found["numbers"] else None
        if numbers is None:
            continue
        piece = line[last : found.start()]
        plain += _behind(piece, len(plain)) if marks else piece
        kept = [number for number in numbers if number <= passages]
        strange += len(numbers) - len(kept)
        marks.append((len(plain), kept))
        last = found.end()
    return plain + (_behind(line[last:], len(plain)) if marks else line), marks, strange


def _behind(text: str, length: int) -> str:
    """The text behind a marker, now that it is gone: words stay apart, a full stop moves up, "[1]: " is no text."""
    if not length:
        return _COLON.sub("", text)
    if text[:1].isalnum():
        return " " + text
    return text.lstrip() if text.lstrip()[:1] in _CLOSING else text


def _numbers(text: str) -> list[int] | None:
    """``"1, 3-5"`` as numbers; None where it has a zero, which numbers no passage but occurs in intervals."""
    numbers: list[int] = []
    for found in _RANGE.finditer(text):
        first = int(found[1])
        last = int(found[2]) if found[2] else first
        if not first or last < first:
            return None
        numbers += range(first, min(last, first + 20) + 1)
    return numbers
