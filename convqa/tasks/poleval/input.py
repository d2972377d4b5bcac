"""The questions: in.tsv, a line each with its set, or questions.jl."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from convqa.domain import TurnId
from convqa.errors import InputError
from convqa.tasks.lines import read_lines
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


_NOT_IN_IDS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class Record(NamedTuple):
    """A line: its number in the file, id and text, and the whole object."""

    line: int
    id: str
    text: str
    fields: dict[str, Any]


def read_records(path: Path, wanted: str) -> Iterator[Record]:
    """The lines of a file, plain or gzip, one at a time. A number as id becomes its string.

    A mark of byte order at the start is skipped.

    :raises InputError: naming line and field of the first that lacks or is another thing; also for an empty file.
    """
    empty = True
    for number, line in read_lines(path, wanted):
        empty = False
        yield _record(number, line.removeprefix(BOM_UTF8) if number == 1 else line, f"{path}: line {number}", wanted)
    if empty:
        raise InputError(f"{path}: the file is empty; wanted {wanted}.")


def _record(number: int, line: bytes, where: str, wanted: str) -> Record:
    if not line.strip():
        raise InputError(f"{where}: is blank; wanted {wanted}.")
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InputError(f"{where}: this is no JSON ({error.msg}); wanted {wanted}.") from None
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


IN, EXPECTED = "in.tsv", "expected.tsv"
_QUESTIONS, _PAIRS, _PASSAGES = "questions", "pairs", "passages"

WANTED_QUESTIONS = f"{IN} (set, TAB, question), or {_QUESTIONS}.jl (JSON lines with id and text)"
WANTED_TRUTH = f"{EXPECTED} beside {IN}, or {_PAIRS}.tsv beside {_QUESTIONS}.jl"


def questions_file(path: Path) -> Path:
    """The file of questions: the path itself, or the one in a folder.

    :raises InputError: if a folder has none, or several, such as those of a test and a training set.
    """
    return _only(path, filter(looks_like_questions, _inside(path)), WANTED_QUESTIONS) if path.is_dir() else path


def truth_file(path: Path) -> Path:
    """The file of the truth: the path itself, the one in a folder, or the one of a file of questions.

    :raises InputError: if a folder has none, or several.
    """
    if path.is_dir():
        return _only(path, filter(_is_truth, _inside(path)), WANTED_TRUTH)
    return _truth_of(path) if looks_like_questions(path) else path


def questions_of(truth: Path) -> Path:
    """Where the questions of a truth are."""
    if is_pairs(truth):
        return truth.with_name(f"{_QUESTIONS}{truth.stem.removeprefix(_PAIRS)}.jl")
    return truth.with_name(IN)


def looks_like_questions(path: Path) -> bool:
    """Whether this is called as questions are: in.tsv, questions.jl, questions-test.jl."""
    return path.is_file() and (path.name == IN or (is_jl(path) and path.name.startswith(_QUESTIONS)))


def looks_like_truth(path: Path) -> bool:
    """Whether this is called as a truth is (expected.tsv, pairs.tsv, pairs-test.tsv), or as questions that have one."""
    return _is_truth(path) or (looks_like_questions(path) and _truth_of(path).is_file())


def holds_questions(path: Path) -> bool:
    """Whether a file, or a file of a folder, looks like questions."""
    return any(map(looks_like_questions, _inside(path)))


def holds_truth(path: Path) -> bool:
    """Whether a file, or a file of a folder, looks like a truth."""
    return any(map(looks_like_truth, _inside(path)))


def is_jl(path: Path) -> bool:
    """Whether questions are the competition's, as JSON lines."""
    return path.suffix == ".jl"


def is_pairs(path: Path) -> bool:
    """Whether a truth is the competition's, as pairs."""
    return path.name.startswith(_PAIRS) and path.suffix == ".tsv"


def passage_files(questions: Path, sets: tuple[str, ...]) -> dict[str, Path]:
    """Set -> its passages.jl (or .jl.gz); {} where none is found.

    They lie beside the questions, or, as the published data has them, in a folder of the set's name there or one above;
    those of a single set may also lie one above.

    :raises InputError: if some of several sets have none, or a folder has both files.
    """
    found = passage_files_found(questions, sets)
    lacking = [name for name in sets if name not in found]
    if found and lacking:
        here = questions.parent
        raise InputError(
            f"{questions}: there are passages for {', '.join(found)}, and none for {', '.join(lacking)}; wanted "
            f"{lacking[0]}/{_PASSAGES}.jl in {here} or in {here.absolute().parent}, or a collection of all sets by "
            "--collection."
        )
    return found


def passage_files_found(questions: Path, sets: tuple[str, ...]) -> dict[str, Path]:
    """``passage_files`` of those sets that have some."""
    here = questions.parent
    above = here.absolute().parent
    found: dict[str, Path] = {}
    for name in sets:
        folders = [here / name, above / name] if name else []
        for folder in folders if len(sets) > 1 else [here, *folders, *([above] if name else [])]:
            files = [file for end in (".jl", ".jl.gz") if (file := folder / f"{_PASSAGES}{end}").is_file()]
            if len(files) > 1:
                raise InputError(f"{folder}: has {' and '.join(file.name for file in files)}; wanted one of them.")
            if files:
                found[name] = files[0]
                break
    return found


def _is_truth(path: Path) -> bool:
    return path.is_file() and (path.name == EXPECTED or is_pairs(path))


def _truth_of(questions: Path) -> Path:
    if is_jl(questions):
        return questions.with_name(f"{_PAIRS}{questions.stem.removeprefix(_QUESTIONS)}.tsv")
    return questions.with_name(EXPECTED)


def _inside(path: Path) -> list[Path]:
    """The files of a folder that can be read, by name; a file is itself."""
    if not path.is_dir():
        return [path]
    try:
        return sorted(path.iterdir())
    except OSError:
        return []


def _only(folder: Path, found: Iterable[Path], wanted: str) -> Path:
    files = list(found)
    if len(files) == 1:
        return files[0]
    if not files:
        raise InputError(f"{folder}: found none of the files wanted; wanted {wanted}.")
    names = ", ".join(file.name for file in files)
    raise InputError(f"{folder}: has {names}, and a run answers one of them; give the file's path.")


def read_rows(path: Path, wanted: str) -> Iterator[tuple[int, str]]:
    """(number, line without its end) of a file in UTF-8; a mark of byte order and carriage returns are taken away.

    :raises InputError: naming the line that is blank or not UTF-8.
    """
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
