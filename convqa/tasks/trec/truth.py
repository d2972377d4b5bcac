"""Read qrels, a track's judgments of passages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from convqa.domain import TurnId
from convqa.errors import InputError
from convqa.tasks.files import any_file, read_lines, start_text
from convqa.tasks.scores import Gold, GoldTurn
from convqa.validation import shorten

MAX_GRADE = 1000
"""trec_eval reserves memory for every grade up to the largest one."""

EXPECTED = f"qrels, whose lines are TURN 0 PASSAGE GRADE (a whole number, at most {MAX_GRADE})"


@dataclass(frozen=True, slots=True)
class JudgedTurn(GoldTurn):
    """The grades of the passages that were judged for a turn."""

    grades: Mapping[str, int]


Qrels = Gold[JudgedTurn]


def recognize(path: Path) -> bool:
    """Whether it is a file of qrels."""
    return path.is_file() and any_file(path, (), lambda file: _judgment(start_text(file, EXPECTED).split("\n")[0]))


def read(path: Path) -> Qrels:
    """Read qrels. Passages with a grade above 0 are relevant; nDCG's gains are the grades.

    :raises InputError: naming the malformed line.
    """
    grades: dict[TurnId, dict[str, int]] = {}
    for number, line in read_lines(path, EXPECTED):
        text = line.decode("utf-8-sig", "replace")
        judgment = _judgment(text)
        if judgment:
            turn, passage, grade = judgment
            grades.setdefault(turn_id(turn), {})[passage] = grade
        elif text.strip():
            raise InputError(f"{path}: line {number}: expected {EXPECTED}, got {shorten(text)}.")
    if not grades:
        raise InputError(f"{path}: has no judgments; expected {EXPECTED}.")
    return Gold(path, tuple(JudgedTurn(id, {"topic": id.conversation}, judged) for id, judged in grades.items()))


def turn_id(query: str) -> TurnId:
    """Return the turn of a name in TREC files. A name without a turn is that of a topic with one turn.

    >>> [tuple(turn_id(name).to_json()) for name in ("31_2", "132_1-3", "2024-145979")]
    [('31', 2), ('132', '1-3'), ('2024-145979', 1)]
    """
    topic, _, turn = query.rpartition("_")
    if not topic:
        return TurnId(query, 1)
    return TurnId(topic, int(turn) if turn.isdecimal() else turn)


def _judgment(line: str) -> tuple[str, str, int] | None:
    """Return turn, passage and grade of a line; None if it is malformed."""
    try:
        query, _, passage, grade = line.split()
        value = int(grade)
    except ValueError:
        return None
    return (query, passage, value) if abs(value) <= MAX_GRADE else None
