"""The passages in the prompt of a language model that writes an answer: which parts of them, and how they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from convqa.components.prompts import count_tokens, harmless, quoted
from convqa.domain import Passage, Ranking, Reading, Unit
from convqa.text.support import support_words
from convqa.text.units import units

_ELLIPSIS = "..."
_MIN_CHARS = 200
"""A passage that has less room left is not shown."""

_META = ("file", "page", "date")


class PassagePart(NamedTuple):
    """The part of a passage in the prompt: characters ``[start, end)`` of its text."""

    passage: Passage
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.passage.text[self.start : self.end]


def passage_parts(
    ranking: Ranking,
    reading: Reading | None,
    question: str,
    language: str,
    *,
    count: int,
    max_chars: int,
    max_tokens: int,
) -> list[PassagePart]:
    """Return the first passages of a ranking with a text, each cut to whole units around what answers the question.

    That is the reader's best span or, without one, the unit with most words of the question.
    """
    best_starts: dict[str, int] = {}
    for span in reading.spans if reading else ():
        best_starts.setdefault(span.passage_id, span.start)
    parts: list[PassagePart] = []
    room = max_tokens
    for passage in ranking.passages():
        if len(parts) == count or not passage.text.strip():
            continue
        chars = min(max_chars, int(len(passage.text) * room / max(1, count_tokens(shown(passage, 0, None)))))
        if chars < min(_MIN_CHARS, len(passage.text)) and parts:
            break
        part = _part(passage, best_starts.get(passage.id), question, chars, language)
        room -= count_tokens(shown(*part))
        parts.append(part)
    return parts


def _part(passage: Passage, start: int | None, question: str, max_chars: int, language: str) -> PassagePart:
    text = passage.text
    if len(text) <= max_chars:
        return PassagePart(passage, 0, len(text))
    spans = [(unit.start, unit.end) for unit in units(passage, language)] or [(0, len(text))]
    if start is None:
        words = {word.token: word.weight for word in support_words(question, language) if word.is_content}
        scores = [
            sum(words.get(token, 0.0) for token in {word.token for word in support_words(text[first:end], language)})
            for first, end in spans
        ]
        best = scores.index(max(scores))
    else:
        best = max((index for index, (first, _) in enumerate(spans) if first <= start), default=0)
    first = last = best
    while True:
        if first > 0 and spans[last][1] - spans[first - 1][0] <= max_chars:
            first -= 1
        elif last + 1 < len(spans) and spans[last + 1][1] - spans[first][0] <= max_chars:
            last += 1
        else:
            break
    return PassagePart(passage, spans[first][0], min(spans[last][1], spans[first][0] + max_chars))


def shown(passage: Passage, start: int, end: int | None) -> str:
    """Return a passage's part with its line breaks, below a line with title, headings, file, page, date and address.

    Lines are indented, so that none of them begins like one of the prompt.
    """
    part = passage.text[start:end]
    unit = next((unit for unit in passage.units if unit.is_quotable and unit.end > start), Unit(0, 0))
    path = " > ".join(filter(None, (passage.title, unit.heading)))
    facts = [f"{name}: {harmless(str(passage.meta[name]))}" for name in _META if name in passage.meta]
    if passage.url:
        facts.append(f"address: {harmless(passage.url)}")
    head = ", ".join([quoted(path), *facts]) if path else ", ".join(facts)
    above = "" if unit.context in part else unit.context
    lines = [*above.splitlines(), *part.splitlines()]
    if start:
        lines.insert(0, _ELLIPSIS)
    if end is not None and end < len(passage.text):
        lines.append(_ELLIPSIS)
    return "\n".join([head, *(f"  {harmless(line)}" for line in lines if line.strip())]).strip("\n")


def numbered_parts(parts: Sequence[PassagePart]) -> str:
    """Return the parts, numbered from 1 in their order."""
    return "\n".join(f"[{number}] {shown(*part)}" for number, part in enumerate(parts, 1))


def quoted_parts(parts: Sequence[PassagePart]) -> str:
    """Return the parts, numbered from 1, each as a JSON string on one line."""
    lines = []
    for number, (passage, start, end) in enumerate(parts, 1):
        text = passage.text[start:end]
        if start:
            text = f"{_ELLIPSIS} {text}"
        if end < len(passage.text):
            text = f"{text} {_ELLIPSIS}"
        title = f"{quoted(passage.title)}: " if passage.title.strip() else ""
        lines.append(f"[{number}] {title}{quoted(text)}")
    return "\n".join(lines)
