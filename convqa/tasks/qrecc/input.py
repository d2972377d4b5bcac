"""Read questions.json as conversations: errors are refused, and what can be repaired is repaired with a warning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import groupby
from pathlib import Path
from typing import Any

from convqa.domain import Conversation, Exchange, Turn, TurnId
from convqa.errors import InputError
from convqa.files import log
from convqa.tasks.files import file_at
from convqa.tasks.qrecc import schema

FILE = "questions.json"
_FILES = (
    FILE,
    "questions-rewritten.json",
    "scai-qrecc21-*-questions.json",
    "scai-qrecc21-*-questions-rewritten.json",
)
_EXPECTED = "a JSON array of {Conversation_no, Turn_no, Question}, with Context if known"

Records = list[dict[str, Any]]


def recognize(path: Path) -> bool:
    """Whether a folder holds questions.json, or a file has one of SCAI-QReCC's names for questions."""
    if path.is_dir():
        return (path / FILE).is_file()
    return path.is_file() and any(fnmatchcase(path.name, pattern) for pattern in _FILES)


def read(path: Path) -> Iterator[Conversation]:
    """Return conversations in order of their first turn in the file, turns by number.

    ``Turn.history`` holds the exchanges of ``Context``. Empty questions are kept, since a run needs all turns. Errors
    are raised before the first conversation.
    """
    file = file_at(path, FILE)
    records = schema.read_records(file, schema.QUESTIONS, _EXPECTED)
    if not records:
        raise InputError(f"{file}: the array is empty; expected {_EXPECTED}.")
    schema.warn_of_unknown(file, records, frozenset(schema.QuestionRecord.__annotations__))
    seen: dict[TurnId, int] = {}
    for index, record in enumerate(records):
        first = seen.setdefault(schema.turn_id(record), index)
        if first != index:
            raise InputError(
                f"{file}: {schema.label(records, index)}: the same turn as record {first}; expected each pair of "
                "Conversation_no and Turn_no once. Does the file combine two data sets?"
            )
    schema.check_spellings(file, list(seen))
    conversations = _grouped(file, records)
    blank = [str(schema.turn_id(record)) for record in records if not record["Question"].strip()]
    if blank:
        log.warning(
            "%s: %d empty questions, kept as turns; the first is turn %s",
            file,
            len(blank),
            blank[0],
        )
    return (Conversation(number, tuple(map(_turn, turns))) for number, turns in conversations.items())


def _grouped(file: Path, records: Records) -> dict[int | str, Records]:
    """Group turns by conversation; warn of interleaved or unordered turns and gaps in Turn_no, from 1 (or 0)."""
    conversations: dict[int | str, Records] = {}
    for record in records:
        conversations.setdefault(record["Conversation_no"], []).append(record)
    runs = Counter(number for number, _ in groupby(records, key=lambda record: record["Conversation_no"]))
    interleaved = sum(count > 1 for count in runs.values())
    unordered = skipped = 0
    for turns in conversations.values():
        numbers = [record["Turn_no"] for record in turns]
        if numbers != sorted(numbers):
            unordered += 1
            turns.sort(key=lambda record: int(record["Turn_no"]))
        skipped += max(numbers) - min(*numbers, 1) + 1 - len(numbers)
    for count, message in (
        (
            interleaved,
            "%s: collected the turns of %d interleaved conversations",
        ),
        (unordered, "%s: sorted the turns of %d conversations by Turn_no"),
        (skipped, "%s: accepted %d gaps in Turn_no (skipped turns)"),
    ):
        if count:
            log.warning(message, file, count)
    return conversations


def _turn(record: Mapping[str, Any]) -> Turn:
    context = record.get("Context", [])
    history = tuple(
        Exchange(question, answer, status="answered" if answer else "unanswered")
        for question, answer in zip(context[::2], context[1::2], strict=True)
    )
    return Turn(schema.turn_id(record), record["Question"], history)
