"""Parsing of a language model's reply, in the forms that models write, into sentences with the numbers they cite."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any, Literal, NamedTuple

from convqa.files import replace_surrogates
from convqa.text.sentences import sentences

_MAX_REPLY_CHARS = 20_000
"""Limit of a reply. The rest is ignored."""

_MAX_RANGE = 20
"""Maximum length of a range of passages, such as [1-3]."""

_THOUGHTS = re.compile(r"\A.*</(?:think|thinking|thought|reasoning|analysis)>", re.S | re.I)
_OPEN_THOUGHT = re.compile(r"<(?:think|thinking|thought|reasoning|analysis)>.*\Z", re.S | re.I)
_FINAL_CHANNEL = re.compile(r"\A.*<\|channel\|>\s*final\s*(?:<\|[a-z_]+\|>\s*\w*)*<\|message\|>", re.S)
_OTHER_CHANNEL = re.compile(r"<\|channel\|>.*\Z", re.S)
_CONTROL = re.compile(r"<\|[^|<>\n]{1,40}\|>")
_CODE_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n`]*$", re.M)
_IMAGE = re.compile(r"!\[[^\]\n]{0,300}\]\([^()\n]{0,2000}\)")
_LINK = re.compile(r"\[([^\[\]\n]{1,300})\]\([^()\n]{0,2000}\)")
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
_INTRO = re.compile(
    rf"\A(?:(?:based on|according to|as \w+ in|from|per|in|laut|nach|gem\u00e4\u00df)\s+(?:(?:the|den|der)\s+)?"
    rf"(?:(?:provided|given|above|retrieved)\s+)?{_NOUN}(?:\s+(?:provided|above))?\s*(?:\d{{1,3}})?\s*,\s*"
    rf"|{_NOUN}\s*(?:\d{{1,3}})?\s+(?:says?|states?|mentions?|notes?)\s+(?:that\s+)?)",
    re.I,
)
_NOT = r"(?:not|no|nothing|none|nicht|kein\w*|nichts|\w+n['\u2019]t)\b"
_SAYS = (
    r"(?:mention|sa(?:y|id)|stat|contain|giv|provid|includ|specif|cover|describ|answer|tell|nam|list|address|discuss"
    r"|indicat|offer|explain|sufficien|enough|ha[vs]|refer|erw\u00e4hn|enth[a\u00e4]lt|nenn|sag|gib|steh|geht|hab|ha[nt])\w*"
)
_REFUSAL = re.compile(
    rf"\A\W*no[ _]answer\b|\b{_NOUN}\b.{{0,40}}\b(?:{_NOT}.{{0,30}}\b{_SAYS}|{_SAYS}.{{0,30}}\b{_NOT})"
    rf"|\b{_NOT}.{{0,60}}\b(?:in|by|from|of|den|aus)\b.{{0,20}}\b{_NOUN}\b"
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

_NUMBER = (
    r"(?:(?:passages?|sources?|documents?|doc|quellen?|\u8cc7\u6599)\s{0,2}|[#^\u2191])?\d{1,3}"
    r"(?:\s{0,2}[-\u2010-\u2015~\u301c\uff0d]\s{0,2}\d{1,3})?"
)
_NUMBERS = rf"{_NUMBER}(?:\s{{0,2}}(?:[,;&\u3001\uff0c\uff1b]|and\b|und\b)\s{{0,2}}{_NUMBER}){{0,20}}"
_MARKER = re.compile(
    rf"(?P<code>`[^`\n]{{1,300}}`)|[ \t]{{0,3}}(?:[\[\u3010\uff3b\u3014]\s{{0,2}}(?P<numbers>{_NUMBERS})"
    r"(?:\u2020[^\]\u3011\n]{0,60})?\s{0,2}[\]\u3011\uff3d\u3015]"
    rf"|(?<=[\w.!?,;:%\"\u201d\)] )\((?:see )?(?P<round>{_NUMBERS})\)(?=\s*(?:[.!?,;:\n|(\[]|\Z|(?-i:[A-Z])))"
    r"|(?:(?<=[.!?,;:\"\u201d\)])|(?<=[^\W\d_]{3}))(?P<raised>[\u00b9\u00b2\u00b3\u2070\u2074-\u2079]+))(?:\s+(?=[.,;:!?\u2026]))?",
    re.I,
)
_RAISED = str.maketrans("\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079", "0123456789")
_RANGE = re.compile(r"(\d{1,3})(?:\s{0,2}[-\u2010-\u2015~\u301c\uff0d]\s{0,2}(\d{1,3}))?")
_WORD = re.compile(r"\w")
_CITED = re.compile(r"cit|source|passage|ref|quelle", re.I)
"""Names of fields with numbers of passages, in a reply in JSON."""
_LINE_ENDINGS = frozenset("|.!?:;\u3002\uff01\uff1f]")
_CLOSING_MARKS = frozenset(".,;:!?\u2026\u3002\uff0c\uff01\uff1f")
_ABBREVIATION = re.compile(
    r"\b(?:approx|incl|excl|nos?|pp?|fig|vol|ca|max|min|est|e\.g|i\.e|etc|bzw|z\.\s?B|Nr|art|sec)\.\Z", re.I
)

SentenceKind = Literal["claim", "frame", "table"]
ReplyKind = Literal["answer", "none", "talk", "question"]


class ReplySentence(NamedTuple):
    """A sentence of a reply without its markers, and the distinct numbers of the passages that it cites, in order.

    ``kind``: a claim; the frame of others (a heading, an introduction to a list, "Yes.", an offer of help, what was
    looked for in vain), which says nothing to check; or a table. ``mark`` begins a list item: "2." or "-". ``rows``: of
    a table, without its header.
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

    Thoughts, control tokens, code fences, Markdown, URLs of links, images, and a final list of sources are removed. A
    marker belongs to the sentence that contains or precedes it; at the start of a line, to the following one. Numbers
    without a passage are removed. ``[0]``, ``[2008]`` and code in backticks are not markers.

    >>> parse("Goethe wrote it. [1][7] He lived in Weimar [2, 3].", 3, "en").sentences[1]
    ReplySentence(text='He lived in Weimar.', numbers=(2, 3), kind='claim', mark='', rows=())
    """
    text = _LABEL.sub("", _plain(reply))
    word = _KIND.search(text)
    text = _LABEL.sub("", _KIND.sub("", text))
    parsed: list[ReplySentence] = []
    lines = _lines(text)
    for line, following in zip_longest(lines, lines[1:], fillvalue=_Line("")):
        if "\n" in line.text:
            parsed.append(_table(line.text, passages))
            continue
        is_heading = line.mark == "#" or following.depth > line.depth > 0
        mark = line.mark.strip("#|")
        for sentence in _line_sentences(line.text.strip("|"), passages, language):
            if _WORD.search(sentence.text):
                is_frame = is_heading or _FRAME.search(sentence.text)
                kind: SentenceKind = "frame" if is_frame and not sentence.numbers else "claim"
                parsed.append(sentence._replace(kind=kind, mark=mark))
                mark = ""
            elif parsed:
                # Markers without words belong to the sentence before.
                numbers = dict.fromkeys([*parsed[-1].numbers, *sentence.numbers])
                parsed[-1] = parsed[-1]._replace(numbers=tuple(numbers))
    reply_kind = _kind(word[0].strip(" `*:.") if word else "", parsed)
    if word and reply_kind == "none" and parsed and not parsed[0].numbers:
        # What the model looked for.
        parsed[0] = parsed[0]._replace(kind="frame")
    return ParsedReply(tuple(parsed), reply_kind)


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


def _table(text: str, passages: int) -> ReplySentence:
    lines = []
    rows = []
    for number, line in enumerate(text.splitlines()):
        plain, markers = _without_markers(line, passages)
        lines.append(" ".join(plain.split()))
        if number and not _RULE.fullmatch(line):
            rows.append(ReplySentence(" ".join(plain.replace("|", " ").split()), _distinct(markers)))
    cited = dict.fromkeys(number for row in rows for number in row.numbers)
    return ReplySentence(
        "\n".join(lines),
        tuple(cited),
        "table",
        rows=tuple(rows),
    )


def _plain(reply: str) -> str:
    text = str(replace_surrogates(reply[:_MAX_REPLY_CHARS]))
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    for pattern in (_THOUGHTS, _OPEN_THOUGHT, _FINAL_CHANNEL, _OTHER_CHANNEL, _CONTROL, _CODE_FENCE, _IMAGE):
        text = pattern.sub("", text)
    text = _from_json(text)
    text = _LINK.sub(_link_text, text)
    return "".join(letter for letter in text if letter.isprintable() or letter in _KEPT_WHITE_SPACE)


def _from_json(text: str) -> str:
    """Return the texts of a reply in JSON, with the markers that its other fields name; any other text unchanged."""
    bare = text.strip()
    if not bare.startswith(("{", "[{", '["')):
        return text
    try:
        return "\n".join(_json_texts(json.loads(bare)))
    except (ValueError, RecursionError):
        return text


def _json_texts(value: Any) -> Iterator[str]:
    """Yield the longest text of each object, with its numbers of passages as markers."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _json_texts(item)
    elif isinstance(value, dict):
        cited = [number for name in value if _CITED.match(name) for number in re.findall(r"\d+", str(value[name]))]
        texts = [text for text in value.values() if isinstance(text, str)]
        if texts:
            yield " ".join([max(texts, key=len), *(f"[{number}]" for number in cited)])
        else:
            yield from _json_texts([*value.values()])


def _link_text(match: re.Match[str]) -> str:
    # [1](https://...) is a marker with a URL; of other links, the text is kept.
    marker = f"[{match[1]}]"
    return marker if _MARKER.fullmatch(marker) else match[1]


def _lines(text: str) -> list[_Line]:
    """Return lines without Markdown, tables as one. A line that begins in lower case continues the one before it."""
    lines: list[_Line] = []
    is_open = False
    for line in text.splitlines():
        plain = _EMPHASIS.sub(lambda match: match[2] or match[3], line)
        prefix = _PREFIX.match(plain)
        bare = plain[prefix.end() if prefix else 0 :].strip(" \t>")
        if _SOURCES.fullmatch(bare):
            break
        is_row = _TABLE_LINE.fullmatch(plain)
        before = lines[-1] if is_open else None
        is_open = bool(bare)
        if before and is_row and before.mark == "|":
            lines[-1] = before._replace(text=f"{before.text}\n{bare}")
        elif before and not prefix and bare[:1].islower() and before.text[-1] not in _LINE_ENDINGS:
            lines[-1] = before._replace(text=f"{before.text} {bare}")
        elif prefix:
            number = f"{prefix['number']}." if prefix["number"] else "-"
            depth = 1 + len(prefix["indent"].expandtabs(4))
            lines.append(_Line(bare, "#" if prefix["heading"] else number, depth))
        elif bare:
            lines.append(_Line(bare, "|" if is_row else "#" if _BOLD.fullmatch(line) else ""))
    return lines


def _line_sentences(
    line: str,
    passages: int,
    language: str,
) -> Iterator[ReplySentence]:
    """Yield the sentences of a line with their numbers."""
    plain, markers = _without_markers(line, passages)
    bounds: list[tuple[int, int]] = []
    for start, end in sentences(plain, language):
        if bounds and (plain[start].islower() or _is_abbreviated(plain[: bounds[-1][1]], plain[start])):
            bounds[-1] = (bounds[-1][0], end)
        else:
            bounds.append((start, end))
    if markers and not bounds:
        bounds = [(0, 0)]
    numbers: list[list[int]] = [[] for _ in bounds]
    for position, marked in markers:
        before = [index for index, (start, _) in enumerate(bounds) if start < position]
        numbers[before[-1] if before else 0] += marked
    for (start, end), cited in zip(bounds, numbers, strict=True):
        text = " ".join(plain[start:end].split()).lstrip(": ")
        rest = _INTRO.sub("", text)
        if rest and rest != text:
            text = rest[0].upper() + rest[1:]
        yield ReplySentence(text, tuple(dict.fromkeys(cited)))


def _is_abbreviated(before: str, following: str) -> bool:
    return following.isdigit() and _ABBREVIATION.search(before) is not None


def _without_markers(line: str, passages: int) -> tuple[str, list[tuple[int, list[int]]]]:
    """Return the line without markers, and the (position, numbers) of each marker."""
    plain = ""
    markers: list[tuple[int, list[int]]] = []
    last = 0
    for match in _MARKER.finditer(line):
        certain = match["numbers"]
        numbers = _numbers(certain or match["round"] or (match["raised"] or "").translate(_RAISED))
        known = [number for number in numbers if number <= passages]
        # (3) and a raised 3 are markers only of a passage, as both occur in texts.
        if not numbers or not (certain or known):
            continue
        plain += line[last : match.start()]
        plain = plain.rstrip() if line[match.end() :][:1] in _CLOSING_MARKS else f"{plain} "
        markers.append((len(plain), known))
        last = match.end()
    return plain + line[last:], markers


def _distinct(markers: Sequence[tuple[int, list[int]]]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(number for _, numbers in markers for number in numbers))


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
