"""Read questions from in.tsv (set, TAB, question) or questions.jl (JSON lines with id and text)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from convqa.domain import Conversation, Turn, TurnId
from convqa.errors import InputError
from convqa.tasks.files import any_file, only_file, read_lines
from convqa.tasks.records import RecordFile
from convqa.validation import Record, shorten

LANGUAGE = "pl"
IN = "in.tsv"
JL = ".jl"
"""The ending of JSON lines in the competition's format."""
EXPECTED = f"{IN} (set, TAB, question), or questions.jl (JSON lines with id and text)"

_HEADER = "set"
"""The first field of in-header.tsv."""
_WITH_SET = re.compile(r"(.+)/\d+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SetQuestion:
    """A question. ``set``: its corpus, "" if the file names none."""

    id: TurnId
    text: str
    set: str


@dataclass(frozen=True, slots=True)
class Questions:
    """Questions in the order of the file and of a run's lines, and their sets in order of appearance."""

    file: Path
    items: tuple[SetQuestion, ...]
    sets: tuple[str, ...]

    @property
    def of_several_sets(self) -> bool:
        return len(self.sets) > 1


def _text_id(value: Any) -> Any:
    return str(value) if type(value) is int else value


class TextRecord(Record):
    """A question or passage as a line of JSON; a numeric id becomes a string."""

    id: Annotated[str, BeforeValidator(_text_id), Field(pattern=r"\S")]
    text: str


class QuestionLine(TextRecord):
    """A line of questions.jl."""

    text: str = Field(pattern=r"\S")


_QUESTIONS = RecordFile(QuestionLine, "question", "id", EXPECTED, f"Expected: {EXPECTED}.")


def recognize(path: Path) -> bool:
    """Whether a file, or a file of a folder, has the name of questions."""
    return any_file(path, ("",), is_questions)


def is_questions(path: Path) -> bool:
    """Whether a file has the name of questions: in.tsv, questions.jl, questions-test.jl."""
    return path.is_file() and (path.name == IN or (path.suffix == JL and path.name.startswith("questions")))


def read(path: Path) -> Iterator[Conversation]:
    """Yield each question as a conversation of one turn; with several sets, it searches only its own."""
    asked = read_questions(path)
    for item in asked.items:
        kept = {"set": (item.set,)} if asked.of_several_sets else {}
        yield Conversation(
            item.id.conversation,
            (Turn(item.id, item.text, language=LANGUAGE, filter=kept),),
        )


def read_questions(path: Path) -> Questions:
    """Read the questions in a file, or in the only one of a folder.

    The id of a turn is its line, counted from 1 without a header, or with several sets ``SET/LINE``; in questions.jl,
    its id.
    """
    file = only_file(path, ("",), is_questions, EXPECTED)
    if file.suffix == JL:
        records = [record for _, record in _QUESTIONS.read(file)]
        named = [SetQuestion(TurnId(record.id, 1), record.text, "") for record in records]
        return Questions(file, tuple(named), ("",))
    rows = list(_rows(file))
    if not rows:
        raise InputError(f"{file}: has no questions; expected {EXPECTED}.")
    sets = tuple(dict.fromkeys(name for name, _ in rows))
    items = tuple(
        SetQuestion(TurnId(f"{name}/{line}" if len(sets) > 1 else line, 1), text, name)
        for line, (name, text) in enumerate(rows, 1)
    )
    return Questions(file, items, sets)


def set_of(id: TurnId) -> str:
    """Return the set in a turn's id, "" with a single set.

    >>> set_of(TurnId("legal-questions/401", 1)), set_of(TurnId(401, 1)), set_of(TurnId("401", 1))
    ('legal-questions', '', '')
    """
    match = _WITH_SET.fullmatch(id.conversation) if isinstance(id.conversation, str) else None
    return match[1] if match else ""


def read_rows(path: Path, expected: str) -> Iterator[tuple[int, str]]:
    """Yield (number, line without its end) of a file in UTF-8, without byte order mark and carriage returns."""
    for number, line in read_lines(path, expected):
        where = f"{path}: line {number}"
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            raise InputError(f"{where}: byte {error.start + 1} is not UTF-8; expected {expected} in UTF-8.") from None
        if number == 1:
            text = text.removeprefix("\ufeff")
        yield number, text.replace("\r", "").removesuffix("\n")


def _rows(file: Path) -> Iterator[tuple[str, str]]:
    """Yield (set, question) without a header and without the blanks around either, which the test sets have."""
    for number, line in read_rows(file, EXPECTED):
        fields = [field.strip() for field in line.split("\t")]
        if number == 1 and fields[0] == _HEADER:
            continue
        if len(fields) != 2 or not all(fields):
            raise InputError(f"{file}: line {number}: expected {EXPECTED}, got {shorten(line)}.")
        yield fields[0], fields[1]
