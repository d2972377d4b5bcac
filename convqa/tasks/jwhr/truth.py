"""What the workers answered, from which pages; and what they could not answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from convqa.domain import TurnId
from convqa.tasks.jwhr.cited import CitedAnswer, cited_answer
from convqa.tasks.jwhr.entries import read_entries


@dataclass(frozen=True, slots=True)
class GoldTurn:
    """``answer`` is None where the worker found none. ``fields``: chunk (answered, not_answered) and file."""

    id: TurnId
    answer: CitedAnswer | None
    fields: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Gold:
    """The truth in file order. No component can receive it."""

    path: Path
    turns: tuple[GoldTurn, ...]


def read(path: Path) -> Gold:
    """The answers in a file, or in all files of a folder.

    :raises InputError: naming file, place, entry and field of the first fault.
    """
    turns = []
    for placed in read_entries(path):
        answer = cited_answer(placed.entry)
        fields = {"chunk": "not_answered" if answer is None else "answered", "file": placed.file.name}
        turns.append(GoldTurn(TurnId(placed.entry.id, 1), answer, fields))
    return Gold(path, tuple(turns))
