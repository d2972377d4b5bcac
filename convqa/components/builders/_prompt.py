"""The passages in the prompt of a language model that writes an answer: which parts of them, and how they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from convqa.components.prompts import count_tokens, harmless, quoted
from convqa.domain import Passage, Reading, Unit
from convqa.text.units import units

_ELLIPSIS = "..."
_MIN_CHARS = 200
"""A passage that has less room left is not shown."""

META = ("file", "page", "date")
"""Fields of a passage's meta that the model sees."""


class PassagePart(NamedTuple):
    """The part of a passage in the prompt: characters ``[start, end)`` of its text."""

    passage: Passage
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.passage.text[self.start : self.end]


def passage_parts(
    passages: Sequence[Passage],
    reading: Reading | None,
    language: str,
    *,
    count: int,
    max_chars: int,
    max_tokens: int,
) -> list[PassagePart]:
    """Return the first passages with a text, each cut to whole units.

    They are around the reader's best span in the passage or, without one, at its beginning.
    """
    read = {span.passage_id: span.start for span in reversed(reading.spans if reading else ())}
    parts: list[PassagePart] = []
    room = max_tokens
    for passage in passages:
        if len(parts) == count or not passage.text.strip():
            continue
        size = len(passage.text)
        chars = min(max_chars, size * room // count_tokens(shown(passage, 0, size)))
        if chars < min(_MIN_CHARS, size) and parts:
            break
        part = PassagePart(passage, 0, size)
        if size > chars:
            part = _cut(passage, read.get(passage.id, 0), chars, language)
        room -= count_tokens(shown(*part))
        parts.append(part)
    return parts


def _cut(
    passage: Passage,
    start: int,
    max_chars: int,
    language: str,
) -> PassagePart:
    """Return whole units around the one at ``start``."""
    spans = [(unit.start, unit.end) for unit in units(passage, language)] or [(0, len(passage.text))]
    first = max((index for index, (begin, _) in enumerate(spans) if begin <= start), default=0)
    last = first
    while True:
        if first > 0 and spans[last][1] - spans[first - 1][0] <= max_chars:
            first -= 1
        elif last + 1 < len(spans) and spans[last + 1][1] - spans[first][0] <= max_chars:
            last += 1
        else:
            break
    return PassagePart(
        passage,
        spans[first][0],
        min(spans[last][1], spans[first][0] + max_chars),
    )


def shown(passage: Passage, start: int, end: int) -> str:
    """Return a passage's part with its line breaks, below a line with title, headings, file, page, date and address.

    Lines are indented, so that none of them begins like one of the prompt.
    """
    part = passage.text[start:end]
    unit = next((unit for unit in passage.units if unit.is_quotable and unit.end > start), Unit(0, 0))
    path = " > ".join(filter(None, (passage.title, unit.heading)))
    known = {name: passage.meta.get(name) for name in META} | {"address": passage.url}
    facts = [f"{name}: {harmless(str(value))}" for name, value in known.items() if value]
    head = ", ".join([quoted(path), *facts] if path else facts)
    above = "" if unit.context in part else unit.context
    lines = [*above.splitlines(), *part.splitlines()]
    if start:
        lines.insert(0, _ELLIPSIS)
    if end < len(passage.text):
        lines.append(_ELLIPSIS)
    return "\n".join([head, *(f"  {harmless(line)}" for line in lines if line.strip())]).strip("\n")


def numbered_parts(parts: Sequence[PassagePart]) -> str:
    """Return the parts, numbered from 1 in their order."""
    return "\n".join(f"[{number}] {shown(*part)}" for number, part in enumerate(parts, 1))
