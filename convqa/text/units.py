"""Find what can be quoted in a text: sentences, list items, table rows, and questions with their replies.

A text is first split into parts at its lines. A document's parts are known from its format
(:mod:`convqa.documents`); those of other texts are recognized as in plain text and Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from convqa.domain import Passage, Unit, UnitKind
from convqa.text.sentences import MAX_SENTENCE_CHARS, sentences

PartKind = Literal["heading", "paragraph", "item", "caption", "header", "row", "code", "footnote"]

_UNIT_KINDS: dict[PartKind, UnitKind] = {
    "heading": "heading",
    "item": "item",
    "caption": "header",
    "header": "header",
    "row": "row",
    "code": "code",
}
"""The kind of units of a part. Those of other parts are sentences."""

_MAX_HEADING_CHARS = 100
_MAX_QUESTION_CHARS = 200
"""A longer question is not joined with its reply, and a longer heading is not repeated below."""
_MAX_HEADER_CHARS = 2000
"""Captions and header rows that are longer, together, are not repeated with each row."""
_MAX_MARKED_CHARS = 1000
"""A longer line is a paragraph. Matching a rule of dashes takes quadratic time."""
_MAX_REPLY_WORDS = 60
"""A longer reply is quoted in units of its own, with the question as their context."""

LEAD_GAP = "\u2003"
"""The em space after a heading that begins a paragraph."""
_LEAD = re.compile(rf"\s*(.{{1,99}}?{LEAD_GAP}|\S+?(?:\s+\S+)??\.(?=\s))")
"""The beginning of a paragraph that is quoted with the sentence after it: such a heading, or a sentence of at most two
words. "Cash only. No cards." is one unit, and "Opening hours. From eight to ten." another."""
_LETTER = re.compile(r"[^\W\d_]")
_NO_HEADING = re.compile(r"^\s*[|•*+\u2013-]|[.!?…:;,\u3002\uff01\uff1f]\W*$|\n")
_ENDS_WITH_QUESTION = re.compile(r"[?\uff1f\u061f]\W*$")
_MARKED_QUESTION = re.compile(r"(?i)\s*\W{0,3}(?:q|question|frage|pytanie)\s?\d{0,3}\s?[.:)]")

_LINE = re.compile(r"[^\n]+")
_MARKDOWN_HEADING = re.compile(r"(#{1,6})\s+(?=[^\s#])")
_RULE = re.compile(r"={3,}|\|?[\s:|=_*\u2013-]*-[\s:|=_*\u2013-]*")
_FENCE = re.compile(r"```|~~~")
_BULLET = re.compile(r"[-*+•▪●◦‣·\u2013]\s+(?=\S)")
_NUMBER = re.compile(r"(?:\(?\d{1,3}[.)]|\(?[a-z][.)]|\(\w{1,3}\)|\d{1,2}(?:\.\d{1,3})+\.?)\s+(?=\S)")
_BEGINS_PART = re.compile(
    rf"{_MARKDOWN_HEADING.pattern}|{_FENCE.pattern}|{_BULLET.pattern}|{_NUMBER.pattern}|\||={{3,}}"
)


class Part(NamedTuple):
    """A part of a text: the characters ``[start, end)``.

    ``level``: of a heading. ``is_numbered``: of an item. ``page``: 0 in a text without pages.
    """

    start: int
    end: int
    kind: PartKind = "paragraph"
    level: int = 1
    is_numbered: bool = False
    page: int = 0


def units(passage: Passage, language: str) -> Sequence[Unit]:
    """Return the units of a passage: its own, or those that its text shows."""
    return passage.units or units_of_text(passage.text, language)


@lru_cache(4096)
def units_of_text(text: str, language: str) -> tuple[Unit, ...]:
    """Return the units of a text. One of headings or rules alone, such as a name, is one sentence.

    >>> text = "Fees\\n\\nMembers pay:\\n- 5 euros a day\\n- 20 euros a week\\n\\nCash only. No cards."
    >>> for unit in units_of_text(text, "en"):
    ...     print(unit.kind, text[unit.start : unit.end], (unit.heading, unit.context), sep=" | ")
    heading | Fees | ('', '')
    sentence | Members pay: | ('Fees', '')
    item | 5 euros a day | ('Fees', 'Members pay:')
    item | 20 euros a week | ('Fees', 'Members pay:')
    sentence | Cash only. No cards. | ('Fees', '')
    """
    found = units_of_parts(text, list(parts(text)), language)
    if any(unit.is_quotable for unit in found) or not any(map(str.isalnum, text)):
        return found
    start = len(text) - len(text.lstrip())
    return (Unit(start, len(text.rstrip()), "sentence"),)


def is_heading(line: str) -> bool:
    """Return whether a line alone looks like a heading: short, with a letter, without final punctuation.

    >>> is_heading("2.1 Maintenance"), is_heading("It is so."), is_heading("- an item")
    (True, False, False)
    """
    return len(line) <= _MAX_HEADING_CHARS and not _NO_HEADING.search(line) and _LETTER.search(line) is not None


def units_of_parts(
    text: str,
    parts: Sequence[Part],
    language: str,
) -> tuple[Unit, ...]:
    """Return the units of a text whose parts are known, in order."""
    found: list[Unit] = []
    path: list[tuple[int, str]] = []
    heading = context = ""
    before: PartKind | None = None
    for part in parts:
        if part.kind == "heading":
            path = [(level, words) for level, words in path if level < part.level]
            heading = " > ".join(words for _, words in path)
        if part.kind in ("heading", "paragraph", "caption", "code", "footnote") or _is_other_list(before, part.kind):
            context = ""
        own = list(_units_of_part(text, part, heading, context, language))
        length = part.end - part.start
        if part.kind == "heading" and length <= _MAX_QUESTION_CHARS:
            path.append((part.level, " ".join(text[part.start : part.end].split())))
            heading = " > ".join(words for _, words in path)
        elif part.kind in ("caption", "header") and len(context) + length <= _MAX_HEADER_CHARS:
            context = "\n".join(filter(None, (context, text[part.start : part.end])))
        elif part.kind == "paragraph" and own and text[own[-1].end - 1] in ":\uff1a":
            context = text[own[-1].start : own[-1].end]
        found += own
        before = part.kind
    return tuple(_with_replies(text, found))


def _is_other_list(before: PartKind | None, kind: PartKind) -> bool:
    """Return whether a list or a table begins that what stood before does not introduce."""
    if before == "item":
        return kind in ("header", "row")
    return before == "row" and kind in ("header", "item")


def _units_of_part(
    text: str,
    part: Part,
    heading: str,
    context: str,
    language: str,
) -> Iterator[Unit]:
    kind = _UNIT_KINDS.get(part.kind, "sentence")
    if part.is_numbered:
        kind = "step"
    is_short = part.end - part.start <= MAX_SENTENCE_CHARS
    if kind in ("heading", "header", "row") or (is_short and kind != "sentence"):
        yield Unit(part.start, part.end, kind, heading, context)
        return
    start = part.start
    line_end = text.find("\n", start, part.end)
    line = text[start:line_end]
    if line_end != -1 and len(line) <= _MAX_QUESTION_CHARS and _ENDS_WITH_QUESTION.search(line):
        # "There is water in the tray. Is it leaking?" is one question to what follows.
        yield Unit(start, start + len(line.rstrip()), kind, heading, context)
        start = line_end
    lead = _LEAD.match(text, start, part.end)
    begin = lead.end() if lead else start
    for first, last in sentences(text[begin : part.end], language):
        yield Unit(lead.start(1) if lead else begin + first, begin + last, kind, heading, context)
        lead = None


def _with_replies(text: str, found: Sequence[Unit]) -> Iterator[Unit]:
    """Join each question that stands alone with its reply, or make it the context of a long one.

    A question stands alone if it is a heading, or a sentence that is a paragraph, or marked as in "Q: When?".
    """
    index = 0
    while index < len(found):
        question = found[index]
        end = _end_of_reply(text, found, index)
        reply = found[index + 1 : end]
        if not reply:
            yield question
            index += 1
            continue
        last = reply[-1].end
        asked = text[question.start : question.end]
        is_short = len(text[question.end : last].split()) <= _MAX_REPLY_WORDS
        if is_short and all(unit.kind in ("sentence", "item", "step") for unit in reply):
            yield Unit(question.start, last, "question", question.heading)
        else:
            yield Unit(question.start, question.end, "heading", question.heading)
            for unit in reply:
                yield Unit(unit.start, unit.end, unit.kind, unit.heading, unit.context or asked)
        index = end


def _end_of_reply(text: str, found: Sequence[Unit], index: int) -> int:
    """Return where the reply to a question ends in ``found``; ``index + 1`` if there is none."""
    question = found[index]
    end = index + 1
    if not _is_question(text, question):
        return end
    while end < len(found):
        unit = found[end]
        if unit.kind == "heading" or _is_question(text, unit):
            break
        end += 1
        # A sentence is a question to what follows it at once; a heading to all below it.
        is_last_of_paragraph = text[unit.end : unit.end + 2] in ("\n\n", "")
        introduces = text[unit.end - 1] == ":"
        if question.kind == "sentence" and is_last_of_paragraph and not introduces:
            break
    return end


def _is_question(text: str, unit: Unit) -> bool:
    asked = text[unit.start : unit.end]
    if len(asked) > _MAX_QUESTION_CHARS or unit.kind not in ("heading", "sentence"):
        return False
    if _MARKED_QUESTION.match(asked):
        return True
    if not _ENDS_WITH_QUESTION.search(asked):
        return False
    begins_line = text[unit.start - 1 : unit.start] in ("\n", "")
    ends_line = text[unit.end : unit.end + 1] == "\n"
    return unit.kind == "heading" or (begins_line and ends_line)


class _TextLine(NamedTuple):
    """A line without the blanks around it. ``follows_gap``: whether an empty line is above it."""

    start: int
    text: str
    follows_gap: bool

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def parts(text: str) -> Iterator[Part]:
    """Yield the parts of a plain or Markdown text, in order, without its marks of headings, bullets and fences."""
    lines = list(_lines(text))
    index = 0
    while index < len(lines):
        line = lines[index]
        end = index + 1
        is_alone = line.follows_gap and (end == len(lines) or lines[end].follows_gap)
        if _FENCE.match(line.text):
            end = _end_of_code(lines, end)
            if end > index + 1:
                yield Part(lines[index + 1].start, lines[end - 1].end, "code")
            end += 1
        elif line.text.startswith("|") or _is_rule(line.text):
            is_header = end < len(lines) and _is_rule(lines[end].text)
            has_text = any(map(str.isalnum, line.text))
            if has_text and not _is_rule(line.text):
                yield Part(line.start, line.end, "header" if is_header else "row")
        elif heading := _heading(line, is_alone):
            yield heading
        else:
            end = _end_of_paragraph(lines, end)
            yield _paragraph(line, lines[end - 1].end)
        index = end


def _lines(text: str) -> Iterator[_TextLine]:
    """Yield the lines that are not empty."""
    end = -1
    for match in _LINE.finditer(text):
        line = match[0].strip()
        if not line:
            continue
        start = match.end() - len(match[0].lstrip())
        follows_gap = end < 0 or text.count("\n", end, start) > 1
        end = match.end()
        yield _TextLine(start, line, follows_gap)


def _heading(line: _TextLine, is_alone: bool) -> Part | None:
    """Return a line as a heading: one that Markdown marks, or a short one between empty lines."""
    if len(line.text) > _MAX_MARKED_CHARS:
        return None
    if marks := _MARKDOWN_HEADING.match(line.text):
        bare = line.text.rstrip("# ")
        return Part(
            line.start + marks.end(),
            line.start + len(bare),
            "heading",
            len(marks[1]),
        )
    number = _NUMBER.match(line.text)
    words = line.text[number.end() :] if number else line.text
    if not is_alone or _BULLET.match(line.text) or not is_heading(words):
        return None
    dots = number[0].strip(" .").count(".") if number else 0
    return Part(line.start, line.end, "heading", 2 + dots)


def _paragraph(line: _TextLine, end: int) -> Part:
    """Return the paragraph or list item that a line begins."""
    if _NUMBER.match(line.text):
        return Part(line.start, end, "item", is_numbered=True)
    if bullet := _BULLET.match(line.text):
        return Part(line.start + bullet.end(), end, "item")
    return Part(line.start, end)


def _end_of_code(lines: Sequence[_TextLine], index: int) -> int:
    """Return the index of the fence that closes code, or the number of lines if none does."""
    while index < len(lines) and not _FENCE.match(lines[index].text):
        index += 1
    return index


def _end_of_paragraph(lines: Sequence[_TextLine], index: int) -> int:
    """Return the index of the line after a paragraph or an item: after a gap, or of another part."""
    while index < len(lines) and not lines[index].follows_gap and not _BEGINS_PART.match(lines[index].text):
        index += 1
    return index


def _is_rule(text: str) -> bool:
    return len(text) <= _MAX_MARKED_CHARS and _RULE.fullmatch(text) is not None
