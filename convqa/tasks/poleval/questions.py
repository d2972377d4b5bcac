"""The questions: in.tsv, a line each with its set, or questions.jl."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from convqa.domain import TurnId
from convqa.errors import InputError
from convqa.tasks.poleval.files import WANTED_QUESTIONS, is_jl, questions_file
from convqa.tasks.poleval.records import read_records
from convqa.tasks.poleval.tables import read_rows
from convqa.validation import shorten

_HEADER = "set"
"""The first field of in-header.tsv."""

_WITH_SET = re.compile(r"(.+)/\d+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Question:
    """``set`` is the corpus that it is asked of, "" where the file names none."""

    id: TurnId
    text: str
    set: str


@dataclass(frozen=True, slots=True)
class Questions:
    """Questions in the order of their file, which is that of a run's lines, and their sets in order of appearance."""

    file: Path
    items: tuple[Question, ...]
    sets: tuple[str, ...]

    @property
    def of_several_sets(self) -> bool:
        return len(self.sets) > 1


def read(path: Path) -> Questions:
    """The questions in a file, or in that of a folder.

    A turn is called by its line, counted from 1 without a header; where there are several sets, ``SET/LINE``; in
    questions.jl by its id.

    :raises InputError: naming file, line and field of the first mistake.
    """
    file = questions_file(path)
    if is_jl(file):
        return Questions(file, tuple(_of_records(file)), ("",))
    rows = list(_rows(file))
    if not rows:
        raise InputError(f"{file}: there is no question in it; wanted {WANTED_QUESTIONS}.")
    sets = tuple(dict.fromkeys(name for name, _ in rows))
    items = tuple(
        Question(TurnId(f"{name}/{line}" if len(sets) > 1 else line, 1), text, name)
        for line, (name, text) in enumerate(rows, 1)
    )
    return Questions(file, items, sets)


def set_of(id: TurnId) -> str:
    """The set in a turn's name, "" where there is only one.

    >>> set_of(TurnId("legal-questions/401", 1)), set_of(TurnId(401, 1)), set_of(TurnId("401", 1))
    ('legal-questions', '', '')
    """
    found = _WITH_SET.fullmatch(id.conversation) if isinstance(id.conversation, str) else None
    return found[1] if found else ""


def _rows(file: Path) -> Iterator[tuple[str, str]]:
    """(set, question) of each line but a header; blanks around either are no part of it (the test sets have some)."""
    for number, line in read_rows(file, WANTED_QUESTIONS):
        where, fields = f"{file}: line {number}", [field.strip() for field in line.split("\t")]
        if number == 1 and fields[0] == _HEADER:
            continue
        if len(fields) != 2:
            raise InputError(f"{where}: found {len(fields)} columns; wanted two: set, TAB, question.")
        name, text = fields
        if not name or name in {".", ".."} or re.search(r"[/\\\x00-\x1f]", name):
            raise InputError(
                f"{where}: set: found {shorten(name)}; wanted a name such as wiki-trivia, without slashes."
            )
        if not text:
            raise InputError(f"{where}: text: is empty; wanted a question.")
        yield name, text


def _of_records(file: Path) -> Iterator[Question]:
    lines: dict[str, int] = {}
    for record in read_records(file, WANTED_QUESTIONS):
        where, id = f"{file}: line {record.line}", TurnId(record.id, 1)
        if not record.text.strip():
            raise InputError(f"{where}: text: found {shorten(record.text)}; wanted a question.")
        if set_of(id):
            raise InputError(f"{where}: id: found {record.id!r}; wanted another: SET/LINE names lines of in.tsv.")
        if lines.setdefault(record.id, record.line) != record.line:
            raise InputError(f"{where}: id: found {record.id!r}, which line {lines[record.id]} has too.")
        yield Question(id, record.text, "")
