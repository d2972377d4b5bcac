"""Parsing of replies with markers such as ``[1]`` into plain sentences with the numbers they cite."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from convqa.components.builders._prompt import NO_ANSWER
from convqa.files import replace_surrogates
from convqa.text.sentences import sentences

_MAX_REPLY_CHARS = 20_000
_MAX_REPLY_SENTENCES = 40
"""What exceeds these is ignored."""

_MAX_RANGE = 20
"""Maximum length of a range of passages, such as [1-3]."""

_THOUGHTS = re.compile(r"\A.*</(?:think|thinking|thought|reasoning|analysis)>", re.S | re.I)
_OPEN_THOUGHT = re.compile(r"<(?:think|thinking|thought|reasoning|analysis)>.*\Z", re.S | re.I)
_CODE_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n`]*$", re.M)
_IMAGE = re.compile(r"!\[[^\]\n]{0,300}\]\([^()\n]{0,2000}\)")
_LINK = re.compile(r"\[([^\[\]\n]{1,300})\]\([^()\n]{0,2000}\)")
_SOURCES_HEADING = re.compile(
    r"(?:sources?|references?|citations?|quellen|literatur|fuentes|\u51fa\u5178|\u53c2\u8003\u6587\u732e)\s*[:\uff1a]?",
    re.I,
)
_LINE_PREFIX = re.compile(r"(?:[ \t]*(?:[-*+\u2022>]|#{1,6}|\d{1,2}[.)])[ \t]+)+")
_ITEM_MARK = re.compile(r"(\d{1,2})[.)]|[-*+\u2022]")
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
_SENTENCE_END = re.compile(r"[.!?\u3002\uff01\uff1f](?:\s{0,2}\[[\d, ]{1,20}\])*|\n")
_KEPT_WHITE_SPACE = frozenset("\n\t\u200c\u200d\u3000\u00a0")
_MARKER_COLON = re.compile(r"\A\s{0,3}[:.\u2013\u2014-](?=\s)")
_LINE_ENDINGS = frozenset(".!?:;\u3002\uff01\uff1f]")
_CLOSING_MARKS = frozenset(".,;:!?\u3002\uff0c\uff01\uff1f")

CONTINUED = "+"


class ReplySentence(NamedTuple):
    """A sentence of a reply without its markers, and the distinct numbers of the passages that it cites, in order.

    ``item``: the mark of the list item that it begins, "2." or "-"; ``CONTINUED`` if it continues an item; otherwise
    "".
    """

    text: str
    numbers: tuple[int, ...]
    item: str = ""


class ParsedReply(NamedTuple):
    """A parsed reply. ``unknown_numbers`` counts the numbers without a passage."""

    sentences: tuple[ReplySentence, ...] = ()
    declined: bool = False
    unknown_numbers: int = 0


def parse(reply: str, passages: int, language: str) -> ParsedReply:
    """Return the sentences of a reply to a prompt with this many passages.

    Thoughts (``<think>``), code fences, Markdown, URLs of links, images, and a final list of sources are removed. A
    marker belongs to the sentence that contains or precedes it; at the start of a line, to the following one. Numbers
    without a passage are removed and counted. ``[0]``, ``[2008]`` and code in backticks are not markers.

    >>> parse("Goethe wrote it. [1][7] He lived in Weimar [2, 3].", 3, "en").sentences[1]
    ReplySentence(text='He lived in Weimar.', numbers=(2, 3), item='')
    """
    text = _plain(reply)
    if _NO_ANSWER.search(_unmarked(text)):
        return ParsedReply(declined=True)
    parsed: list[ReplySentence] = []
    unknown_numbers = 0
    for item, line in _lines(text):
        in_line, unknown = _line_sentences(line, passages, language)
        unknown_numbers += unknown
        for sentence in in_line:
            if _WORD.search(sentence.text):
                parsed.append(sentence._replace(item=item))
                item = item and CONTINUED
            elif parsed:
                # Markers without words belong to the previous sentence.
                numbers = dict.fromkeys([*parsed[-1].numbers, *sentence.numbers])
                parsed[-1] = parsed[-1]._replace(numbers=tuple(numbers))
    items = [sentence for sentence in parsed if sentence.item not in ("", CONTINUED)]
    if len(items) == 1:
        # A single item is not a list.
        parsed = [sentence._replace(item="") for sentence in parsed]
    return ParsedReply(tuple(parsed[:_MAX_REPLY_SENTENCES]), unknown_numbers=unknown_numbers)


def without_cut_sentence(text: str) -> str:
    """Return a truncated reply without its last, incomplete sentence.

    >>> without_cut_sentence("Goethe wrote it [1]. He lived in")
    'Goethe wrote it [1].'
    """
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    return text[: ends[-1]] if ends else ""


def _plain(reply: str) -> str:
    text = str(replace_surrogates(reply[:_MAX_REPLY_CHARS]))
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    for pattern in (_THOUGHTS, _OPEN_THOUGHT, _CODE_FENCE, _IMAGE):
        text = pattern.sub("", text)
    text = _LINK.sub(_link_text, text)
    return "".join(letter for letter in text if letter.isprintable() or letter in _KEPT_WHITE_SPACE)


def _link_text(match: re.Match[str]) -> str:
    # [1](https://...) is a marker with a URL; of other links, the text is kept.
    marker = f"[{match[1]}]"
    return marker if _MARKER.fullmatch(marker) else match[1]


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield (mark of the list item, line without Markdown). A line that begins in lower case after an open sentence
    continues the line before."""
    open_item = ""
    open_line = ""
    for line in text.splitlines():
        prefix = _LINE_PREFIX.match(line)
        bare = _EMPHASIS.sub(lambda match: match[2] or match[3], line[prefix.end() if prefix else 0 :]).strip()
        if _SOURCES_HEADING.fullmatch(_sources_label(bare)):
            break
        if open_line and not prefix and bare[:1].islower() and open_line[-1] not in _LINE_ENDINGS:
            open_line += " " + bare
            continue
        if open_line:
            yield open_item, open_line
        open_item = _item_mark(prefix[0]) if prefix else ""
        open_line = bare
    if open_line:
        yield open_item, open_line


def _item_mark(prefix: str) -> str:
    """Return the innermost mark of a line's prefix: "2.", "-", or ""."""
    marks = list(_ITEM_MARK.finditer(prefix))
    if not marks:
        return ""
    number = marks[-1][1]
    return f"{number}." if number else "-"


def _unmarked(text: str) -> str:
    return _MARKER.sub(lambda match: match["code"] or "", text)


def _sources_label(line: str) -> str:
    """Return a line up to its colon, if only markers and addresses follow it."""
    label, colon, rest = line.partition(":")
    for word in _unmarked(rest).split():
        if "//" not in word and "www." not in word and _WORD.search(word):
            return line
    return label + colon


def _line_sentences(line: str, passages: int, language: str) -> tuple[list[ReplySentence], int]:
    """Return the sentences of a line with their numbers, and how many numbers have no passage."""
    plain, markers, unknown_numbers = _without_markers(line, passages)
    bounds = sentences(plain, language)
    if markers and not bounds:
        bounds = [(0, 0)]
    numbers: list[list[int]] = [[] for _ in bounds]
    for position, marked in markers:
        before = [index for index, (start, _) in enumerate(bounds) if start < position]
        numbers[before[-1] if before else 0] += marked
    in_line = []
    for (start, end), cited in zip(bounds, numbers, strict=True):
        text = " ".join(plain[start:end].split())
        in_line.append(ReplySentence(text, tuple(dict.fromkeys(cited))))
    return in_line, unknown_numbers


def _without_markers(line: str, passages: int) -> tuple[str, list[tuple[int, list[int]]], int]:
    """Return the line without markers, the (position, numbers) of each marker, and how many numbers have no passage."""
    plain = ""
    markers: list[tuple[int, list[int]]] = []
    unknown_numbers = 0
    last = 0
    for match in _MARKER.finditer(line):
        numbers = _numbers(match["numbers"] or "")
        if not numbers:
            continue
        plain += _joinable(line[last : match.start()], plain, bool(markers))
        known = [number for number in numbers if number <= passages]
        unknown_numbers += len(numbers) - len(known)
        markers.append((len(plain), known))
        last = match.end()
    plain += _joinable(line[last:], plain, bool(markers))
    return plain, markers, unknown_numbers


def _joinable(text: str, before: str, follows_marker: bool) -> str:
    """Return the text after a removed marker: keep words apart, move a full stop up, remove the colon of "[1]: "."""
    if not follows_marker:
        return text
    if not before:
        return _MARKER_COLON.sub("", text)
    if text[:1].isalnum():
        return " " + text
    stripped = text.lstrip()
    return stripped if stripped[:1] in _CLOSING_MARKS else text


def _numbers(text: str) -> list[int]:
    """Parse ``"1, 3-5"``. Return [] if it has a zero, as intervals may, or a descending range."""
    numbers: list[int] = []
    for match in _RANGE.finditer(text):
        first = int(match[1])
        last = int(match[2] or first)
        if not first or last < first:
            return []
        numbers += range(first, min(last, first + _MAX_RANGE) + 1)
    return numbers
