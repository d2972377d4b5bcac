"""The questions: in.tsv, a line each with its set, or questions.jl, JSON lines with id and text as passages are."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from convqa.domain import Conversation, Turn, TurnId
from convqa.errors import InputError
from convqa.files import parse_line
from convqa.tasks.files import any_file, files_in, read_lines
from convqa.validation import shorten

LANGUAGE = "pl"
IN = "in.tsv"
WANTED = f"{IN} (set, TAB, question), or questions.jl (JSON lines with id and text)"

_HEADER = "set"
"""The first field of in-header.tsv."""
_WITH_SET = re.compile(r"(.+)/\d+", re.DOTALL)
_NOT_IN_IDS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


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


class Record(NamedTuple):
    """A line of JSON: its number in the file, id and text, and the whole object."""

    line: int
    id: str
    text: str
    fields: dict[str, Any]


def recognise(path: Path) -> bool:
    """Whether a file, or a file of a folder, is called as questions are."""
    return any_file(path, ("",), is_questions)


def is_questions(path: Path) -> bool:
    """Whether a file is called as questions are: in.tsv, questions.jl, questions-test.jl."""
    return path.is_file() and (path.name == IN or (is_jl(path) and path.name.startswith("questions")))


def is_jl(path: Path) -> bool:
    """Whether questions are the competition's, as JSON lines."""
    return path.suffix == ".jl"


def read(path: Path) -> Iterator[Conversation]:
    """Each question is a conversation of one turn; where there are several sets, it is asked of its own only."""
    asked = read_questions(path)
    for one in asked.items:
        kept = {"set": (one.set,)} if asked.of_several_sets else {}
        yield Conversation(one.id.conversation, (Turn(one.id, one.text, language=LANGUAGE, filter=kept),))


def read_questions(path: Path) -> Questions:
    """The questions in a file, or in that of a folder.

    A turn is called by its line, counted from 1 without a header; where there are several sets, ``SET/LINE``; in
    questions.jl by its id.

    :raises InputError: naming file, line and field of the first mistake; also where a folder has no questions, or
        several files of them, such as those of a test and a training set.
    """
    file = one_file(path, is_questions, WANTED)
    if is_jl(file):
        return Questions(file, tuple(_of_records(file)), ("",))
    rows = list(_rows(file))
    if not rows:
        raise InputError(f"{file}: there is no question in it; wanted {WANTED}.")
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


def one_file(path: Path, wanted: Callable[[Path], bool], what: str) -> Path:
    """The path itself, or the only file of a folder that is as wanted."""
    if not path.is_dir():
        return path
    files = [file for file in files_in(path, ("",)) if wanted(file)]
    if len(files) == 1:
        return files[0]
    if not files:
        raise InputError(f"{path}: found none of the files wanted; wanted {what}.")
    names = ", ".join(file.name for file in files)
    raise InputError(f"{path}: has {names}, and a run answers one of them; give the file's path.")


def read_rows(path: Path, wanted: str) -> Iterator[tuple[int, str]]:
    """(number, line without its end) of a file in UTF-8; a mark of byte order and carriage returns are taken away."""
    for number, line in read_lines(path, wanted):
        try:
            text = (line.removeprefix(BOM_UTF8) if number == 1 else line).decode().replace("\r", "").removesuffix("\n")
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path}: line {number}: byte {error.start + 1} is not UTF-8; wanted {wanted} in UTF-8."
            ) from None
        if not text.strip():
            raise InputError(f"{path}: line {number}: is blank; wanted {wanted}.")
        yield number, text


def read_records(path: Path, wanted: str) -> Iterator[Record]:
    """The lines of a file, plain or gzip, one at a time; a number as id becomes its string.

    :raises InputError: naming line and field of the first that lacks or is another thing; also for an empty file.
    """
    number = 0
    for number, line in read_lines(path, wanted):
        yield _record(number, line.removeprefix(BOM_UTF8) if number == 1 else line, f"{path}: line {number}", wanted)
    if not number:
        raise InputError(f"{path}: the file is empty; wanted {wanted}.")


def _record(number: int, line: bytes, where: str, wanted: str) -> Record:
    if not line.strip():
        raise InputError(f"{where}: is blank; wanted {wanted}.")
    found, mended = parse_line(line, where, f"Wanted: {wanted}.")
    if mended:
        raise InputError(f"{where}: has {mended} half surrogates; wanted {wanted}.")
    if not isinstance(found, dict):
        raise InputError(f"{where}: found {shorten(found)}; wanted {wanted}.")
    for field in ("id", "text"):
        if field not in found:
            raise InputError(f"{where}: {field}: is missing; wanted {wanted}.")
    id, text = found["id"], found["text"]
    if not isinstance(text, str):
        raise InputError(f"{where}: text: found {shorten(text)}; wanted a string.")
    return Record(number, _id(id, where), text, found)


def _id(found: Any, where: str) -> str:
    if type(found) is int:
        return str(found)
    if not isinstance(found, str) or not found.strip():
        raise InputError(f"{where}: id: found {shorten(found)}; wanted a string that is not blank, or a whole number.")
    if bad := _NOT_IN_IDS.search(found):
        raise InputError(
            f"{where}: id: found {shorten(found)} with the character U+{ord(bad[0]):04X}; wanted an id without TABs, "
            "line ends and other control characters: a line of out.tsv could not hold it."
        )
    return found


def _rows(file: Path) -> Iterator[tuple[str, str]]:
    """(set, question) of each line but a header; blanks around either are no part of it (the test sets have some)."""
    for number, line in read_rows(file, WANTED):
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
    for record in read_records(file, WANTED):
        where, id = f"{file}: line {record.line}", TurnId(record.id, 1)
        if not record.text.strip():
            raise InputError(f"{where}: text: found {shorten(record.text)}; wanted a question.")
        if set_of(id):
            raise InputError(f"{where}: id: found {record.id!r}; wanted another: SET/LINE names lines of in.tsv.")
        if lines.setdefault(record.id, record.line) != record.line:
            raise InputError(f"{where}: id: found {record.id!r}, which line {lines[record.id]} has too.")
        yield Question(id, record.text, "")
