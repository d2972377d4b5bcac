"""Read questions.json as conversations: errors are refused, and what can be repaired is repaired with a warning."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from convqa.domain import Conversation, Exchange, Turn, TurnId
from convqa.errors import InputError, counted
from convqa.files import log
from convqa.tasks.files import file_at, read_values
from convqa.tasks.qrecc import schema

FILE = "questions.json"
_FILES = re.compile(r"(scai-qrecc21-.*-)?questions(-rewritten)?\.json|feedback.*\.jsonl")
_EXPECTED = "a JSON array of {Conversation_no, Turn_no, Question}, with Context if known"
_FEEDBACK = frozenset({"Rewrite", "Answer", "Passages", "Verdict", "Comment"})
"""Fields that ``convqa feedback export`` adds to a question."""

Records = list[dict[str, Any]]


def recognize(path: Path) -> bool:
    """Whether a folder holds questions.json, or a file has one of SCAI-QReCC's names for questions, or feedback's."""
    if path.is_dir():
        return (path / FILE).is_file()
    return path.is_file() and _FILES.fullmatch(path.name) is not None


def read(path: Path) -> Iterator[Conversation]:
    """Return conversations in order of their first turn in the file, turns by number.

    ``Turn.history`` holds the exchanges of ``Context``. Empty questions are kept, since a run needs all turns. Errors
    are raised before the first conversation.
    """
    file = file_at(path, FILE)
    is_feedback = file.suffix == ".jsonl"
    values = [value for _, value in read_values(file, _EXPECTED, array=not is_feedback)]
    records = schema.checked(file, values, schema.QUESTIONS)
    if not records:
        raise InputError(f"{file}: the array is empty; expected {_EXPECTED}.")
    schema.warn_of_unknown(file, records, schema.QuestionRecord, _FEEDBACK if is_feedback else frozenset())
    conversations = _grouped(file, records)
    return (Conversation(number, tuple(map(_turn, turns))) for number, turns in conversations.items())


def _grouped(file: Path, records: Records) -> dict[int | str, Records]:
    """Group turns by conversation; warn of unordered turns and gaps in Turn_no, from 1 (or 0)."""
    conversations: dict[int | str, Records] = {}
    indexes: dict[TurnId, int] = {}
    for index, record in enumerate(records):
        first = indexes.setdefault(schema.turn_id(record), index)
        if first != index:
            label = schema.label(index, record)
            raise InputError(f"{file}: {label}: is the turn of record {first} too. Give each turn its own number.")
        conversations.setdefault(record["Conversation_no"], []).append(record)
    unordered = 0
    skipped = 0
    for turns in conversations.values():
        numbers = [record["Turn_no"] for record in turns]
        if numbers != sorted(numbers):
            unordered += 1
            turns.sort(key=lambda record: int(record["Turn_no"]))
        skipped += max(numbers) - min(*numbers, 1) + 1 - len(numbers)
    if unordered:
        log.warning("%s: sorted the turns of %s by Turn_no", file, counted(unordered, "conversations"))
    if skipped > 0:
        log.warning("%s: accepted gaps in Turn_no (skipped turns): %d", file, skipped)
    return conversations


def _turn(record: Mapping[str, Any]) -> Turn:
    context = record.get("Context", [])
    history = tuple(
        Exchange(question, answer, status="answered" if answer else "unanswered")
        for question, answer in zip(context[::2], context[1::2], strict=True)
    )
    return Turn(schema.turn_id(record), record["Question"], history)
