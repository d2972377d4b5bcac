"""The demand of a rule, cut into conditions: at "and" and "or" where a clause begins, and at the members of a series.

English. A condition that leaves out its subject takes that of the one before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from convqa.text.english.questions import ask


@dataclass(frozen=True, slots=True)
class Condition:
    """``[start, end)`` are the characters of the text that say it. It holds if ``question`` is answered ``wanted``."""

    start: int
    end: int
    question: str
    wanted: bool


@dataclass(frozen=True, slots=True)
class Group:
    """Conditions of which all (``every``) or at least one has to hold; with ``wanted`` false it must not."""

    parts: tuple[Condition | Group, ...]
    every: bool
    wanted: bool = True

    def conditions(self) -> Iterator[Condition]:
        """All of them, in the order of the text."""
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
_NAME = r"[A-Z][\w\u2019'-]*(?: [A-Z][\w\u2019'-]*)*"
_NAMES = re.compile(rf"(?:{_NAME}, )+{_NAME} or {_NAME}")
_SERIES = re.compile(
    r"\b(?P<lead>includes?(?: things like)?|including|involves?|appl(?:y|ies) to|such as|(?:things )?like)\s+"
    r"(?P<items>(?:[^,.;:()]{2,50}, )+[^,.;:()]{2,50}?,? (?:and|or) [^,.;:()]{2,60})",
    re.I,
)
SHORTEST = 2
"""Characters of a condition, and words of a demand."""


def series(text: str, start: int, end: int) -> Group | None:
    """Things that are listed as what something includes, applies to or is like: each is one of them.

    >>> [one.question for one in series("Reliefs apply to gifts, fees and time at sea.", 0, 45).parts]
    ['Is it gifts?', 'Is it fees?', 'Is it time at sea?']
    """
    found = _SERIES.search(text, start, end)
    if found is None:
        return None
    start, said = found.start("items"), found["items"].rstrip(" .")
    items = _split(re.compile(r",? (?:and|or) |, "), text, start, start + len(said))
    return Group(tuple(Condition(*place, *ask(text[slice(*place)])) for place in items), False)


def parts(text: str, start: int, end: int, every: bool, subject: str = "") -> Iterator[Condition | Group]:
    """The conditions between two places, with the subject that the first has or that is given."""
    groups = list(_split(OR, text, start, end))
    if len(groups) == 1 or not (every or len(list(_split(AND, text, start, end))) > 1):
        yield from _coordinated(text, start, end, subject)
        return
    inner = [tuple(_coordinated(text, *place, subject or _subject(text[start:end]))) for place in groups]
    yield Group(tuple(one[0] if len(one) == 1 else Group(one, True) for one in inner), False)


def _coordinated(text: str, start: int, end: int, subject: str) -> Iterator[Condition | Group]:
    if names := _NAMES.search(text, start, end):
        before, behind = text[start : names.start()], text[names.end() : end]
        found = [(names.start() + one.start(), names.start() + one.end()) for one in re.finditer(_NAME, names[0])]
        lead = f"{subject} {before}" if subject and not _clause(before) else before
        yield Group(tuple(Condition(one, two, *ask(f"{lead}{text[one:two]}{behind if len(behind.split()) < 6 else ''}"))
                          for one, two in found), False)  # fmt: skip
        return
    first = subject
    for one, two in _split(AND, text, start, end):
        said = text[one:two].strip(" ,.;")
        if len(said) < SHORTEST:
            continue
        if not _clause(said) and first:
            said = f"{first} {said}"
        elif not first:
            first = _subject(said)
        yield Condition(one, two, *ask(said))


def _clause(said: str) -> bool:
    return bool(re.match(r"(?:you|your|it|they|their|he|she|we|the|this|there|a|an|i)\b", said.strip(), re.I))


def _subject(said: str) -> str:
    """The subject of a condition, to be repeated where the next one leaves it out."""
    found = re.match(r"\s*(you|they|it|he|she|we|(?:your|the|their|this) \w+)\b", said, re.I)
    return found[1] if found else ""


def _split(joint: re.Pattern[str], text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    place = start
    for found in joint.finditer(text, start, end):
        if found.start() > place:
            yield place, found.start()
        place = found.end()
    yield place, end


def grouped(parts: list[Condition | Group], every: bool) -> Group:
    """A group of the parts; of a single one that is a group, that."""
    return parts[0] if len(parts) == 1 and isinstance(parts[0], Group) else Group(tuple(parts), every)
