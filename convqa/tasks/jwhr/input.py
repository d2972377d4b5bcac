"""Read and check the data set's entries: JSON lines or an array, plain or gzip."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from convqa.domain import Conversation, Turn, TurnId
from convqa.errors import InputError
from convqa.tasks.files import any_file, files_in, first_object, read_values, start_text
from convqa.tasks.jwhr.schema import ADVICE, EXPECTED, LANGUAGE, Entry, entry_faults
from convqa.validation import read_as, shorten

SUFFIXES = (".jsonl", ".jsonl.gz", ".json", ".json.gz")
OTHERS = frozenset({"run.jsonl", "passages.jsonl", "passages.jsonl.gz"})
"""Other files that may be in the folder: a run and a collection."""

Kind = TypeVar("Kind", bound=Entry)


def recognise(path: Path) -> bool:
    """Whether a file, or a file of a folder, starts with an entry."""

    def starts_with_entry(file: Path) -> bool:
        other = path.is_dir() and file.name in OTHERS
        return not other and {"id", "question", "references"} <= first_object(start_text(file, EXPECTED)).keys()

    return any_file(path, SUFFIXES, starts_with_entry)


def read(path: Path) -> Iterator[Conversation]:
    """Yield each entry as a conversation of one turn, without its answer and references."""
    for _, entry in read_entries(path):
        yield Conversation(entry.id, (Turn(TurnId(entry.id, 1), entry.question, language=LANGUAGE),))


def read_entries(path: Path) -> list[tuple[Path, Entry]]:
    """Return the entries of a file, or of all files of a folder, each with its file. Ids must be distinct."""
    entries: list[tuple[Path, Entry]] = []
    owners: dict[int, Path] = {}
    files = [file for file in files_in(path, SUFFIXES) if file.name not in OTHERS] if path.is_dir() else [path]
    if not files:
        raise InputError(f"{path}: has no file {', '.join(SUFFIXES)}; expected files with {EXPECTED}.")
    for file in files:
        for label, entry in parse_entries(file, Entry):
            for fault in entry_faults(entry):
                raise InputError(f"{file}: {label}: {fault}. {ADVICE}")
            other = owners.setdefault(entry.id, file)
            if other != file:
                raise InputError(
                    f"{file}: {label}: id: is also in {other.name}, and a run has one answer per id. Give the files "
                    "one by one."
                )
            entries.append((file, entry))
    return entries


def parse_entries(file: Path, kind: type[Kind]) -> list[tuple[str, Kind]]:
    """Return the entries of one file with their labels, checking only their schema and that ids are distinct."""
    entries: list[tuple[str, Kind]] = []
    positions: dict[int, str] = {}
    for position, value in raw_entries(file):
        label = entry_label(position, value)
        entry = read_as(kind, value, f"{file}: {label}", ADVICE)
        first = positions.setdefault(entry.id, position)
        if first != position:
            raise InputError(f"{file}: {label}: id: is also the id of {first}; expected another one.")
        entries.append((label, entry))
    if not entries:
        raise InputError(f"{file}: has no entries. {ADVICE}")
    return entries


def raw_entries(file: Path) -> Iterator[tuple[str, Any]]:
    """Yield (``line 3`` of JSON lines or ``record 2`` of an array, value)."""
    return read_values(file, EXPECTED, array=start_text(file, EXPECTED).startswith("["))


def entry_label(position: str, value: Any) -> str:
    """Return an entry's name for messages.

    >>> entry_label("line 3", {"id": 17})
    'line 3 (entry 17)'
    """
    return f"{position} (entry {shorten(value['id'])})" if isinstance(value, dict) and "id" in value else position
