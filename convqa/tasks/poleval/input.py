"""Read questions from in.tsv (set, TAB, question) or questions.jl (JSON lines with id and text)."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import PlainValidator
from pydantic_core import PydanticCustomError

from convqa.domain import Conversation, Turn, TurnId
from convqa.errors import InputError
from convqa.tasks.files import any_file, only_file, read_lines, read_values
from convqa.validation import Record, read_as, shorten

LANGUAGE = "pl"
IN = "in.tsv"
EXPECTED = f"{IN} (set, TAB, question), or questions.jl (JSON lines with id and text)"

_HEADER = "set"
"""The first field of in-header.tsv."""
_WITH_SET = re.compile(r"(.+)/\d+", re.DOTALL)
_NOT_IN_IDS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


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


def _id(value: Any) -> str:
    if type(value) is int:
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise PydanticCustomError("id", "expected a string that is not blank, or a whole number")
    if _NOT_IN_IDS.search(value):
        raise PydanticCustomError(
            "id",
            "expected an id that out.tsv can contain, without control characters",
        )
    return value


class TextRecord(Record):
    """A question or passage as a line of JSON; a numeric id becomes a string."""

    id: Annotated[str, PlainValidator(_id)]
    text: str


Kind = TypeVar("Kind", bound=TextRecord)


def recognize(path: Path) -> bool:
    """Whether a file, or a file of a folder, has the name of questions."""
    return any_file(path, ("",), is_questions)


def is_questions(path: Path) -> bool:
    """Whether a file has the name of questions: in.tsv, questions.jl, questions-test.jl."""
    return path.is_file() and (path.name == IN or (is_jl(path) and path.name.startswith("questions")))


def is_jl(path: Path) -> bool:
    """Whether questions have the competition's format, JSON lines."""
    return path.suffix == ".jl"


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
    if is_jl(file):
        return Questions(file, tuple(_of_records(file)), ("",))
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
            text = (line.removeprefix(BOM_UTF8) if number == 1 else line).decode().replace("\r", "").removesuffix("\n")
        except UnicodeDecodeError as error:
            raise InputError(f"{where}: byte {error.start + 1} is not UTF-8; expected {expected} in UTF-8.") from None
        if not text.strip():
            raise InputError(f"{where}: is blank; expected {expected}.")
        yield number, text


def read_records(path: Path, kind: type[Kind], expected: str) -> Iterator[tuple[str, Kind]]:
    """Yield (``line 3``, record) of a file, plain or gzip, which must not be empty."""
    line = ""
    for line, value in read_values(path, expected, array=False, strict=True):
        yield (
            line,
            read_as(kind, value, f"{path}: {line}", f"Expected: {expected}."),
        )
    if not line:
        raise InputError(f"{path}: the file is empty; expected {expected}.")


def _rows(file: Path) -> Iterator[tuple[str, str]]:
    """Yield (set, question) without a header and without the blanks around either, which the test sets have."""
    for number, line in read_rows(file, EXPECTED):
        where, fields = (
            f"{file}: line {number}",
            [field.strip() for field in line.split("\t")],
        )
        if number == 1 and fields[0] == _HEADER:
            continue
        if len(fields) != 2:
            raise InputError(f"{where}: expected two columns (set, TAB, question), got {len(fields)}.")
        name, text = fields
        if not name or name in {".", ".."} or re.search(r"[/\\\x00-\x1f]", name):
            raise InputError(f"{where}: set: expected a name without slashes (wiki-trivia), got {shorten(name)}.")
        if not text:
            raise InputError(f"{where}: text: is empty; expected a question.")
        yield name, text


def _of_records(file: Path) -> Iterator[SetQuestion]:
    lines: dict[str, str] = {}
    for line, record in read_records(file, TextRecord, EXPECTED):
        where, id = f"{file}: {line}", TurnId(record.id, 1)
        if not record.text.strip():
            raise InputError(f"{where}: text: expected a question, got {shorten(record.text)}.")
        if set_of(id):
            raise InputError(f"{where}: id: {record.id!r} is reserved: SET/LINE names lines of in.tsv.")
        if lines.setdefault(record.id, line) != line:
            raise InputError(f"{where}: id: {record.id!r} is also the id of {lines[record.id]}.")
        yield SetQuestion(id, record.text, "")
