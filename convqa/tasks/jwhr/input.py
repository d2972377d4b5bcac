"""Which files are the data set's, and their entries, checked: lines or an array, plain or gzip."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from convqa.domain import Conversation, Turn, TurnId
from convqa.errors import InputError
from convqa.tasks.files import any_file, files_in, first_object, read_start, read_values
from convqa.tasks.jwhr.rules import faults
from convqa.tasks.jwhr.schema import ADVICE, LANGUAGE, WANTED, Entry
from convqa.validation import read_as, shorten

SUFFIXES = (".jsonl", ".jsonl.gz", ".json", ".json.gz")
OTHERS = frozenset({"run.jsonl", "passages.jsonl", "passages.jsonl.gz"})
"""Files that may lie beside the data: a run of it, and a collection."""

_LOOKED_AT = 2**20

Kind = TypeVar("Kind", bound=Entry)


def recognise(path: Path) -> bool:
    """Whether a file, or a file of a folder, begins with an entry, or what was to be one."""
    return any_file(path, SUFFIXES, lambda file: not (path.is_dir() and file.name in OTHERS) and _begins(file))


def read(path: Path) -> Iterator[Conversation]:
    """Each entry is a conversation of one turn; its answer and references stay behind."""
    for _, entry in read_entries(path):
        yield Conversation(entry.id, (Turn(TurnId(entry.id, 1), entry.question, language=LANGUAGE),))


def read_entries(path: Path) -> list[tuple[Path, Entry]]:
    """The entries of a file, or of all files of a folder, in order, each with its file.

    :raises InputError: naming file, line or record, entry and field of the first fault; also for an id that was there
        before, in whichever file: a run has one answer to an id.
    """
    found: list[tuple[Path, Entry]] = []
    owners: dict[int, Path] = {}
    files = [file for file in files_in(path, SUFFIXES) if file.name not in OTHERS] if path.is_dir() else [path]
    if not files:
        raise InputError(f"{path}: has no file {', '.join(SUFFIXES)}; wanted files with {WANTED}.")
    for file in files:
        for place, entry in shaped(file, Entry):
            for fault in faults(entry):
                raise InputError(f"{file}: {place}: {fault}. {ADVICE}")
            other = owners.setdefault(entry.id, file)
            if other != file:
                raise InputError(
                    f"{file}: {place}: id: is in {other.name} too, and a run has one answer to an id. Give the files "
                    "one by one."
                )
            found.append((file, entry))
    return found


def shaped(file: Path, kind: type[Kind]) -> list[tuple[str, Kind]]:
    """The entries of one file, each with its place; only their shape is checked, and that no id is there twice.

    :param kind: an entry of the data, or of a run.
    """
    found: list[tuple[str, Kind]] = []
    places: dict[int, str] = {}
    for line, value in values(file):
        place = named(line, value)
        entry = read_as(kind, value, f"{file}: {place}", ADVICE)
        first = places.setdefault(entry.id, line)
        if first != line:
            raise InputError(f"{file}: {place}: id: is that of {first} too; wanted another one.")
        found.append((place, entry))
    if not found:
        raise InputError(f"{file}: there is no entry in it. {ADVICE}")
    return found


def values(file: Path) -> Iterator[tuple[str, Any]]:
    """(``line 3`` of JSON lines or ``record 2`` of an array, from 0 on; value)."""
    return read_values(file, WANTED, ADVICE, array=_start(file).lstrip().startswith("["))


def named(place: str, value: Any) -> str:
    """How messages name an entry.

    >>> named("line 3", {"id": 17})
    'line 3 (entry 17)'
    """
    return f"{place} (entry {shorten(value['id'])})" if isinstance(value, dict) and "id" in value else place


def _begins(file: Path) -> bool:
    return {"id", "question", "references"} <= first_object(_start(file)).keys()


def _start(file: Path) -> str:
    return read_start(file, WANTED, _LOOKED_AT)[0].decode("utf-8-sig", "replace")
