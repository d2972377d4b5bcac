"""Split the requirement of an English rule into conditions: at "and" and "or" before a clause, and between the items of
a series. A condition without a subject takes that of the condition before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from convqa.sharc.questions import ask


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition in characters ``[start, end)`` of a text. It holds if ``wanted`` is the answer to ``question``."""

    start: int
    end: int
    question: str
    wanted: bool


@dataclass(frozen=True, slots=True)
class Group:
    """Conditions of which all (``every``) or at least one must hold, or must not hold if ``wanted`` is false."""

    parts: tuple[Condition | Group, ...]
    every: bool
    wanted: bool = True

    def conditions(self) -> Iterator[Condition]:
        """Yield all conditions in text order."""
        for part in self.parts:
            if isinstance(part, Condition):
                yield part
            else:
                yield from part.conditions()


_OWNED = r"(?:your|the|their|its|his|her)(?: \w+){1,4}? (?:is|are|was|were|has|have|had|can|must|will|does|do)\b"
_VERBAL = (
    r"(?:(?:you|they|it|he|she|we|is|are|am|was|were|has|have|had|be|been|do|does|did|can|could|will|must|not)\b|"
    rf"{_OWNED})"
)
AND = re.compile(
    rf"[,;]?\s+(?:and|AND|but)\s+(?={_VERBAL}|(?:meet|live|work|get|receive|\w+ed|\w{{3,}}ing|an?)\s)|,\s+(?={_VERBAL})"
)
OR = re.compile(rf"[,;]?\s+(?:or|OR)\s+(?=(?:who\s)?(?:{_VERBAL}|(?:meet|live|work|get|receive|\w{{3,}}ing)\s))")
_SERIES = re.compile(
    r"\b(?P<lead>includes?(?: things like)?|including|involves?|appl(?:y|ies) to|such as|(?:things )?like)\s+"
    r"(?P<items>(?:[^,.;:()]{2,50}, )+[^,.;:()]{2,50}?,? (?:and|or) [^,.;:()]{2,60})",
    re.I,
)
_CLAUSE = re.compile(r"\s*(?:you|your|it|they|their|he|she|we|the|this|there|a|an|i)\b", re.I)
_COMMA_OR = re.compile(r",? (?:and|or) |, ")
"""What separates the items of a series."""

SHORTEST = 2
"""Minimum characters of a condition, and minimum words of a requirement."""


def series(text: str, start: int, end: int) -> Group | None:
    """Return the items of a series (includes, applies to, such as ...) as alternatives, or None without a series.

    >>> [part.question for part in series("Reliefs apply to gifts, fees and time at sea.", 0, 45).parts]
    ['Is it gifts?', 'Is it fees?', 'Is it time at sea?']
    """
    match = _SERIES.search(text, start, end)
    if match is None:
        return None
    first = match.start("items")
    last = first + len(match["items"].rstrip(" ."))
    spans = _split(_COMMA_OR, text, first, last)
    return Group(tuple(Condition(*span, *ask(text[slice(*span)])) for span in spans), every=False)


def parts(
    text: str,
    start: int,
    end: int,
    subject: str = "",
) -> Iterator[Condition | Group]:
    """Yield the conditions in ``text[start:end]``; ``subject`` is the default of those without a subject."""
    spans = list(_split(OR, text, start, end))
    if len(spans) == 1:
        yield from _coordinated(text, start, end, subject)
        return
    subject = subject or _subject(text[start:end])
    alternatives: list[Condition | Group] = []
    for span in spans:
        group = tuple(_coordinated(text, *span, subject))
        alternatives.append(group[0] if len(group) == 1 else Group(group, True))
    yield Group(tuple(alternatives), every=False)


def _coordinated(
    text: str,
    start: int,
    end: int,
    subject: str,
) -> Iterator[Condition | Group]:
    for first, last in _split(AND, text, start, end):
        condition = text[first:last].strip(" ,.;")
        if len(condition) < SHORTEST:
            continue
        if subject and not _CLAUSE.match(condition):
            condition = f"{subject} {condition}"
        elif not subject:
            subject = _subject(condition)
        yield Condition(first, last, *ask(condition))


def _subject(condition: str) -> str:
    match = re.match(
        r"\s*(you|they|it|he|she|we|(?:your|the|their|this) \w+)\b",
        condition,
        re.I,
    )
    return match[1] if match else ""


def _split(
    joint: re.Pattern[str],
    text: str,
    start: int,
    end: int,
) -> Iterator[tuple[int, int]]:
    for match in joint.finditer(text, start, end):
        if match.start() > start:
            yield start, match.start()
        start = match.end()
    yield start, end


def grouped(parts: Iterable[Condition | Group]) -> Group:
    """Return a group of parts that all have to hold, or the only part if that is a group."""
    match tuple(parts):
        case (Group() as group,):
            return group
        case several:
            return Group(several, every=True)
