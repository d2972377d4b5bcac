"""Find what can be quoted in a text: sentences, list items, table rows, and questions with their replies.

A text is first split into parts at its lines. A document's parts are known from its format
(:mod:`convqa.documents`); those of other texts are recognized as in plain text and Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from convqa.domain import Passage, Unit, UnitKind
from convqa.text.cache import remembered
from convqa.text.sentences import MAX_SENTENCE_CHARS, sentences

PartKind = Literal["heading", "paragraph", "item", "caption", "header", "row", "code", "footnote"]

_MAX_HEADING_CHARS = 100
_MAX_QUESTION_CHARS = 200
_MAX_MARKED_CHARS = 1000
"""A longer line is a paragraph. Matching a rule of dashes takes quadratic time."""
_MAX_REPLY_WORDS = 60
"""A longer reply is quoted in units of its own, with the question as their context."""

_LETTER = re.compile(r"[^\W\d_]")
_NO_HEADING = re.compile(r"^\s*[|•*+\u2013-]|[.!?…:;,\u3002\uff01\uff1f]\W*$|\n")
_ENDS_WITH_QUESTION = re.compile(r"[?\uff1f\u061f]\W*$")
_MARKED_QUESTION = re.compile(r"(?i)\s*\W{0,3}(?:q|question|frage|pytanie)\s?\d{0,3}\s?[.:)]")

_LINE = re.compile(r"[^\n]+")
_MARKDOWN_HEADING = re.compile(r"\s{0,3}(#{1,6})\s+(.*?)[\s#]*$")
_UNDERLINE = re.compile(r"\s*(?:={3,}|-{3,})\s*")
_RULE = re.compile(r"\s*\|?[\s:|=_*\u2013-]*-[\s:|=_*\u2013-]*")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_BULLET = re.compile(r"\s*[-*+•▪●◦‣·\u2013]\s+(?=\S)")
_NUMBER = re.compile(r"\s*(?:\(?\d{1,3}[.)]|\(?[a-z][.)]|\(\w{1,3}\)|\d{1,2}(?:\.\d{1,3})+\.?)\s+(?=\S)")


class Part(NamedTuple):
    """A part of a text: the characters ``[start, end)``. ``level``: of a heading. ``is_numbered``: of an item."""

    start: int
    end: int
    kind: PartKind = "paragraph"
    level: int = 1
    is_numbered: bool = False


def units(passage: Passage, language: str) -> Sequence[Unit]:
    """Return the units of a passage: its own, or those that its text shows."""
    return passage.units or units_of_text(passage.text, language)


@remembered(4096)
def units_of_text(text: str, language: str) -> tuple[Unit, ...]:
    """Return the units of a text.

    >>> text = "Fees\\n\\nMembers pay:\\n- 5 euros a day\\n- 20 euros a week\\n\\nCash only. No cards."
    >>> for unit in units_of_text(text, "en"):
    ...     print(unit.kind, text[unit.start : unit.end], (unit.heading, unit.context), sep=" | ")
    heading | Fees | ('', '')
    sentence | Members pay: | ('Fees', '')
    item | 5 euros a day | ('Fees', 'Members pay:')
    item | 20 euros a week | ('Fees', 'Members pay:')
    sentence | Cash only. | ('Fees', '')
    sentence | No cards. | ('Fees', '')
    """
    return units_of_parts(text, list(parts(text)), language)


def is_heading(line: str) -> bool:
    """Return whether a line alone looks like a heading: short, with a letter, without final punctuation.

    >>> is_heading("2.1 Maintenance"), is_heading("It is so."), is_heading("- an item")
    (True, False, False)
    """
    return len(line) <= _MAX_HEADING_CHARS and not _NO_HEADING.search(line) and _LETTER.search(line) is not None


def units_of_parts(text: str, parts: Sequence[Part], language: str) -> tuple[Unit, ...]:
    """Return the units of a text whose parts are known, in order."""
    found: list[Unit] = []
    path: list[tuple[int, str]] = []
    context = ""
    before: PartKind | None = None
    for part in parts:
        if part.kind == "heading":
            path = [(level, heading) for level, heading in path if level < part.level]
        heading = " > ".join(text for _, text in path)
        if part.kind in ("heading", "paragraph", "caption", "code", "footnote") or _is_other_list(before, part.kind):
            context = ""
        own = list(_units_of_part(text, part, heading, context, language))
        if part.kind == "heading":
            path.append((part.level, " ".join(text[part.start : part.end].split())))
        elif part.kind in ("caption", "header"):
            context = "\n".join(filter(None, (context, text[part.start : part.end])))
        elif part.kind == "paragraph" and own and text[own[-1].end - 1] in ":\uff1a":
            context = text[own[-1].start : own[-1].end]
        found += own
        before = part.kind
    return tuple(_with_replies(text, found))


def _is_other_list(before: PartKind | None, kind: PartKind) -> bool:
    """Return whether a list or a table begins that what stood before does not introduce."""
    return (before == "item" and kind in ("header", "row")) or (before == "row" and kind in ("header", "item"))


def _units_of_part(text: str, part: Part, heading: str, context: str, language: str) -> Iterator[Unit]:
    kind: UnitKind
    if part.kind in ("heading", "header"):
        kind = part.kind
    elif part.kind == "caption":
        kind = "header"
    elif part.kind in ("row", "code"):
        kind = part.kind
    elif part.kind == "item":
        kind = "step" if part.is_numbered else "item"
    else:
        kind = "sentence"
    is_whole = kind in ("heading", "header", "row") or (
        kind != "sentence" and part.end - part.start <= MAX_SENTENCE_CHARS
    )
    if is_whole:
        yield Unit(part.start, part.end, kind, heading, context)
        return
    for start, end in sentences(text[part.start : part.end], language):
        yield Unit(part.start + start, part.start + end, kind, heading, context)


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
    if not _is_question(text, question):
        return index + 1
    end = index + 1
    while end < len(found):
        unit = found[end]
        if unit.kind in ("heading", "question") or (unit.kind == "sentence" and _is_question(text, unit)):
            break
        end += 1
        # A sentence is a question to what follows it at once; a heading to all below it.
        is_last_of_paragraph = text[unit.end : unit.end + 2] in ("\n\n", "")
        if question.kind == "sentence" and is_last_of_paragraph and not text[unit.start : unit.end].endswith(":"):
            break
    return end


def _is_question(text: str, unit: Unit) -> bool:
    asked = text[unit.start : unit.end]
    if len(asked) > _MAX_QUESTION_CHARS or unit.kind not in ("heading", "sentence"):
        return False
    if _MARKED_QUESTION.match(asked):
        return True
    stands_alone = text[unit.start - 1 : unit.start] in ("\n", "") and text[unit.end : unit.end + 1] == "\n"
    return bool(_ENDS_WITH_QUESTION.search(asked)) and (unit.kind == "heading" or stands_alone)


def parts(text: str) -> Iterator[Part]:
    """Yield the parts of a plain or Markdown text, in order, without its marks of headings, bullets and fences."""
    lines = [(match.start(), match.end()) for match in _LINE.finditer(text) if match[0].strip()]
    index = 0
    while index < len(lines):
        part, index = _part_at(text, lines, index)
        if part is not None:
            yield part


def _part_at(text: str, lines: Sequence[tuple[int, int]], index: int) -> tuple[Part | None, int]:
    """Return the part that begins at a line, and the index of the line after it."""
    start, end = _trimmed(text, *lines[index])
    line = text[start:end]
    following = text[slice(*lines[index + 1])] if index + 1 < len(lines) else ""
    if len(line) > _MAX_MARKED_CHARS and not line.startswith("|"):
        return _continued(text, lines, index, Part(start, end))
    if _FENCE.match(line):
        return _fenced(text, lines, index)
    if heading := _MARKDOWN_HEADING.fullmatch(line):
        return Part(start + heading.start(2), start + heading.end(2), "heading", len(heading[1])), index + 1
    if line.startswith("|") or _is_tabbed(text, lines, index):
        if _is_rule(line):
            return None, index + 1
        is_header = _is_rule(following)
        return Part(start, end, "header" if is_header else "row"), index + 1
    if _is_rule(line):
        return None, index + 1
    if number := _NUMBER.match(line):
        if _stands_alone(text, lines, index) and is_heading(line[number.end() :]):
            return Part(start, end, "heading", 2 + number[0].strip(" .").count(".")), index + 1
        return _continued(text, lines, index, Part(start, end, "item", is_numbered=True))
    if bullet := _BULLET.match(line):
        return _continued(text, lines, index, Part(start + bullet.end(), end, "item"))
    if _UNDERLINE.fullmatch(following[:_MAX_MARKED_CHARS]) and is_heading(line):
        return Part(start, end, "heading", 1 if "=" in following else 2), index + 2
    if _stands_alone(text, lines, index) and is_heading(line):
        return Part(start, end, "heading", 2), index + 1
    return _continued(text, lines, index, Part(start, end))


def _is_rule(line: str) -> bool:
    return len(line) <= _MAX_MARKED_CHARS and _RULE.fullmatch(line) is not None


def _fenced(text: str, lines: Sequence[tuple[int, int]], index: int) -> tuple[Part | None, int]:
    stop = index + 1
    while stop < len(lines) and not _FENCE.match(text[slice(*lines[stop])]):
        stop += 1
    if stop == index + 1:
        return None, stop + 1
    return Part(lines[index + 1][0], lines[stop - 1][1], "code"), stop + 1


def _continued(text: str, lines: Sequence[tuple[int, int]], index: int, part: Part) -> tuple[Part, int]:
    """Add the lines that continue a paragraph or an item, up to an empty line or a line that begins another part."""
    end = part.end
    index += 1
    while index < len(lines):
        start, stop = lines[index]
        line = text[start:stop]
        begins_other = (
            _BULLET.match(line) or _NUMBER.match(line) or _MARKDOWN_HEADING.fullmatch(line[:_MAX_MARKED_CHARS])
        )
        if text.count("\n", end, start) > 1 or begins_other or line.lstrip().startswith("|") or _FENCE.match(line):
            break
        end = _trimmed(text, start, stop)[1]
        index += 1
    return part._replace(end=end), index


def _stands_alone(text: str, lines: Sequence[tuple[int, int]], index: int) -> bool:
    """Return whether empty lines surround a line, and text follows."""
    start, end = lines[index]
    if index + 1 == len(lines):
        return False
    before = index == 0 or text.count("\n", lines[index - 1][1], start) > 1
    return before and text.count("\n", end, lines[index + 1][0]) > 1


def _is_tabbed(text: str, lines: Sequence[tuple[int, int]], index: int) -> bool:
    """Return whether a line is a row of cells between tabs: a neighbor has as many."""
    count = text.count("\t", *_trimmed(text, *lines[index]))
    near = (lines[number] for number in (index - 1, index + 1) if 0 <= number < len(lines))
    return count > 0 and any(text.count("\t", *_trimmed(text, *other)) == count for other in near)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
