"""Parsing of a language model's reply, in the forms that models write, into sentences with the numbers they cite."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Literal, NamedTuple

from convqa.files import replace_surrogates
from convqa.text.sentences import sentences

_MAX_REPLY_CHARS = 20_000
"""Limit of a reply. The rest is ignored."""

_CLEANED = (
    (re.compile(r"\r\n?"), "\n"),
    # Thoughts, without their beginning or end too.
    (re.compile(r"\A.*</(?:think|thinking|thought|reasoning|analysis)>", re.S | re.I), ""),
    (re.compile(r"<(?:think|thinking|thought|reasoning|analysis)>.*\Z", re.S | re.I), ""),
    # Code fences and images.
    (re.compile(r"^[ \t]*(?:```|~~~)[^\n`]*$", re.M), ""),
    (re.compile(r"!\[[^\]\n]{0,300}\]\([^()\n]{0,2000}\)"), ""),
    # [1](https://...) is a marker with a URL. Of other links, the text is kept.
    (re.compile(r"(\[\d[\d, -]{0,60}\])\([^()\n]{0,2000}\)"), r"\1"),
    (re.compile(r"\[([^\[\]\n]{1,300})\]\([^()\n]{0,2000}\)"), r"\1"),
)
"""What is replaced in a reply before it is read."""

_EMPHASIS = re.compile(
    r"(\*\*|__)(?=\S)([^\n]{1,300}?)(?<=\S)\1|(?<![\w*])\*(?=[^\s*])([^*\n]{1,300}?)(?<=\S)\*(?![\w*])"
)
_KEPT_WHITE_SPACE = frozenset("\n\t\u200c\u200d\u3000\u00a0")

_KIND = re.compile(r"\A\W*(TALK|ASK|NO ANSWER|(?i:no_answer))\b[\s:.*`-]*|`?\bNO_ANSWER\b\W*(?:\[\d+\])?\W*\Z")
_LABEL = re.compile(r"\A\W*(?:(?:final |short )?answer|antwort|response)\s*(?:\*\*)?\s*[:\uff1a]\s*(?:\*\*)?\s*", re.I)
_PREFIX = re.compile(
    r"(?:>[ \t]*)*(?P<indent>[ \t]*)(?:[-*+\u2022]|(?P<heading>#{1,6})|\(?(?P<number>\d{1,2})[.)])[ \t]+"
)
_BOLD = re.compile(r"\s*(\*\*|__)[^*]+\1\s*:?\s*")
_TABLE_LINE = re.compile(r"\s*\|.*\|\s*")
_RULE = re.compile(r"[\s|:-]*-[\s|:-]*")
_SOURCES = re.compile(
    r"(?:sources?|references?|citations?|quellen?|literatur|fuentes|\u51fa\u5178|\u53c2\u8003\u6587\u732e)[\W\d]*",
    re.I,
)
_NOUN = r"(?:passages?|documents?|sources?|context|excerpts?|texts?|information|passagen?|quellen?|texten?|dokumenten?)"
_NOT = r"(?:not|no|nothing|none|nicht|kein\w*|nichts|\w+n['\u2019]t)\b"
_REFUSAL = re.compile(
    rf"\A\W*no[ _]answer\b|\b{_NOUN}\b.{{0,40}}\b{_NOT}|\b{_NOT}.{{0,60}}\b(?:in|by|from|den|aus)\b.{{0,20}}\b{_NOUN}\b"
    r"|n['\u2019]t (?:mention|say|state|specify|contain|include|cover|describe|address|discuss|tell|provide)\b"
    r"|\b(?:no|keine) (?:information(?:en)?|mention|details?|answer|data|antwort|angaben?)\b"
    rf"|\b(?:I|we|ich)\b.{{0,12}}\b(?:unable to|{_NOT}).{{0,12}}(?:know|find|answer|say|determine|wei\u00df)",
    re.I,
)
_COURTESY = re.compile(
    r"\A\W*(?:let me know|i hope|feel free|if you (?:have|need|want|would)|is there anything|happy to|sure\b|certainly"
    r"|of course|great question|you['\u2019]re welcome|hello|hi\b|thanks|thank you|(?:i['\u2019]m )?(?:sorry|happy to)"
    r"|here (?:is|are)\b|how (?:can|may) i help)",
    re.I,
)
_FRAME = re.compile(rf"[:\uff1a]\Z|{_COURTESY.pattern}|\A\W*(?:so )?(?:yes|no|ja|nein)\W*\Z", re.I)

_NUMBER = r"(?:(?:passages?|sources?|documents?|doc|quellen?)\s{0,2}|\^)?\d{1,3}(?:\s{0,2}[-\u2013]\s{0,2}\d{1,3})?"
_NUMBERS = rf"{_NUMBER}(?:\s{{0,2}}(?:[,;&\u3001\uff0c]|and\b|und\b)\s{{0,2}}{_NUMBER}){{0,20}}"
_MARKER = re.compile(
    rf"`[^`\n]{{1,300}}`|[ \t]{{0,3}}[\[\u3010\uff3b]\s{{0,2}}(?P<numbers>{_NUMBERS})"
    r"(?:\u2020[^\]\u3011\n]{0,60})?\s{0,2}[\]\u3011\uff3d](?:\s+(?=[.,;:!?\u2026]))?",
    re.I,
)
"""Numbers of passages in square brackets, also Chinese and Japanese ones; or code in backticks, which has none."""

_RANGE = re.compile(r"(\d{1,3})(?:\s{0,2}[-\u2013]\s{0,2}(\d{1,3}))?")
_WORD = re.compile(r"\w")
_CLOSING_MARKS = frozenset(".,;:!?\u2026\u3002\uff0c\uff01\uff1f")

SentenceKind = Literal["claim", "frame", "table"]
ReplyKind = Literal["answer", "none", "talk", "question"]


class ReplySentence(NamedTuple):
    """A sentence of a reply without its markers, and the distinct numbers of the passages that it cites, in order.

    ``kind``: a claim; the frame of others (a heading, an introduction to a list, "Yes.", an offer of help), which says
    nothing to check; or a table. ``mark`` begins a list item: "2." or "-". ``rows``: of a table, without its header.
    """

    text: str
    numbers: tuple[int, ...] = ()
    kind: SentenceKind = "claim"
    mark: str = ""
    rows: tuple[ReplySentence, ...] = ()


class ParsedReply(NamedTuple):
    sentences: Sequence[ReplySentence] = ()
    kind: ReplyKind = "answer"


class _Line(NamedTuple):
    """A line, or a whole table. ``mark``: "#" of a heading, "|" of a table, or that of an item."""

    text: str
    mark: str = ""
    depth: int = 0


def parse(reply: str, passages: int, language: str) -> ParsedReply:
    """Return the sentences of a reply to a prompt with this many passages.

    Thoughts, code fences, Markdown, URLs of links, images, and a final list of sources are removed. A marker belongs to
    the sentence that contains or precedes it; at the start of a line, to the following one. Numbers without a passage
    are removed. ``[0]``, ``[2008]`` and code in backticks are not markers.

    >>> parse("Goethe wrote it. [1][7] He lived in Weimar [2, 3].", 3, "en").sentences[1]
    ReplySentence(text='He lived in Weimar.', numbers=(2, 3), kind='claim', mark='', rows=())
    """
    text = _LABEL.sub("", _plain(reply))
    word = _KIND.search(text)
    text = _LABEL.sub("", _KIND.sub("", text))
    parsed: list[ReplySentence] = []
    lines = _lines(text)
    for line, following in zip_longest(lines, lines[1:], fillvalue=_Line("")):
        if line.mark == "|":
            parsed.append(_table(line.text, passages))
            continue
        is_heading = line.mark == "#" or following.depth > line.depth > 0
        mark = line.mark.strip("#")
        for sentence in _line_sentences(line.text, passages, language):
            if _WORD.search(sentence.text):
                is_frame = is_heading or _FRAME.search(sentence.text)
                kind: SentenceKind = "frame" if is_frame and not sentence.numbers else "claim"
                parsed.append(sentence._replace(kind=kind, mark=mark))
                mark = ""
            elif parsed:
                # Markers without words belong to the sentence before.
                numbers = dict.fromkeys([*parsed[-1].numbers, *sentence.numbers])
                parsed[-1] = parsed[-1]._replace(numbers=tuple(numbers))
    return ParsedReply(tuple(parsed), _kind(word[0].strip(" `*:.") if word else "", parsed))


def _kind(word: str, parsed: Sequence[ReplySentence]) -> ReplyKind:
    """Return the kind of a reply, given the word that it begins or ends with, if any."""
    cites = any(sentence.numbers for sentence in parsed)
    claims = [sentence for sentence in parsed if sentence.kind != "frame"]
    is_courtesy = parsed and all(_COURTESY.search(sentence.text) for sentence in parsed)
    if not cites and (word == "TALK" or is_courtesy):
        return "talk"
    if word == "ASK" or (claims and not cites and all(sentence.text[-1] in "?\uff1f" for sentence in claims)):
        return "question"
    is_refused = word not in ("", "TALK") or (claims and is_refusal(claims[0]))
    return "none" if is_refused else "answer"


def is_refusal(sentence: ReplySentence) -> bool:
    """Return whether a sentence without a supporting passage says that the passages lack something."""
    return _REFUSAL.search(sentence.text) is not None


def _plain(reply: str) -> str:
    text = str(replace_surrogates(reply[:_MAX_REPLY_CHARS]))
    for pattern, replacement in _CLEANED:
        text = pattern.sub(replacement, text)
    return "".join(letter for letter in text if letter.isprintable() or letter in _KEPT_WHITE_SPACE)


def _lines(text: str) -> list[_Line]:
    """Return lines without Markdown, tables as one, up to a list of sources."""
    lines: list[_Line] = []
    is_in_table = False
    for line in text.splitlines():
        plain = _EMPHASIS.sub(lambda match: match[2] or match[3], line)
        prefix = _PREFIX.match(plain)
        bare = plain[prefix.end() if prefix else 0 :].strip(" \t>")
        if _SOURCES.fullmatch(bare):
            break
        is_row = _TABLE_LINE.fullmatch(plain) is not None
        if is_row and is_in_table:
            lines[-1] = lines[-1]._replace(text=f"{lines[-1].text}\n{bare}")
        elif prefix:
            number = f"{prefix['number']}." if prefix["number"] else "-"
            depth = 1 + len(prefix["indent"].expandtabs(4))
            lines.append(_Line(bare, "#" if prefix["heading"] else number, depth))
        elif bare:
            lines.append(_Line(bare, "|" if is_row else "#" if _BOLD.fullmatch(line) else ""))
        is_in_table = is_row
    return lines


def _table(text: str, passages: int) -> ReplySentence:
    lines = []
    rows = []
    for number, line in enumerate(text.splitlines()):
        plain, markers = _without_markers(line, passages)
        lines.append(" ".join(plain.split()))
        if number and not _RULE.fullmatch(line):
            numbers = dict.fromkeys(number for _, marked in markers for number in marked)
            rows.append(ReplySentence(" ".join(plain.replace("|", " ").split()), tuple(numbers)))
    cited = dict.fromkeys(number for row in rows for number in row.numbers)
    return ReplySentence("\n".join(lines), tuple(cited), "table", rows=tuple(rows))


def _line_sentences(line: str, passages: int, language: str) -> Iterator[ReplySentence]:
    """Yield the sentences of a line with their numbers."""
    plain, markers = _without_markers(line, passages)
    bounds: list[tuple[int, int]] = []
    for start, end in sentences(plain, language):
        if bounds and (plain[start].islower() or plain[start].isdigit()):
            # An abbreviation does not end a sentence.
            start = bounds.pop()[0]
        bounds.append((start, end))
    if markers and not bounds:
        bounds = [(0, 0)]
    numbers: list[list[int]] = [[] for _ in bounds]
    for position, marked in markers:
        before = [index for index, (start, _) in enumerate(bounds) if start < position]
        numbers[before[-1] if before else 0] += marked
    for (start, end), cited in zip(bounds, numbers, strict=True):
        text = " ".join(plain[start:end].split()).lstrip(": ")
        yield ReplySentence(text, tuple(dict.fromkeys(cited)))


def _without_markers(line: str, passages: int) -> tuple[str, list[tuple[int, list[int]]]]:
    """Return the line without markers, and the (position, numbers) of each marker."""
    plain = ""
    markers: list[tuple[int, list[int]]] = []
    last = 0
    for match in _MARKER.finditer(line):
        numbers = _numbers(match["numbers"] or "")
        if numbers:
            plain += line[last : match.start()]
            plain = plain.rstrip() if line[match.end() :][:1] in _CLOSING_MARKS else f"{plain} "
            markers.append((len(plain), [number for number in numbers if number <= passages]))
            last = match.end()
    return plain + line[last:], markers


def _numbers(text: str) -> list[int]:
    """Parse ``"1, 3-5"``. Return [] if it has a zero, as intervals may, or a descending range."""
    numbers: list[int] = []
    for match in _RANGE.finditer(text):
        first = int(match[1])
        last = int(match[2] or first)
        if not first or last < first:
            return []
        numbers += range(first, last + 1)
    return numbers
