"""Read and check the data set's entries: JSON lines or an array, plain or gzip."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from convqa.domain import Conversation, Turn, TurnId
from convqa.errors import InputError
from convqa.files import files_in
from convqa.tasks.files import any_file, starts_with_record
from convqa.tasks.jwhr.schema import (
    ENTRIES,
    EXPECTED,
    LANGUAGE,
    JWHREntry,
    entry_faults,
)

SUFFIXES = (".jsonl", ".jsonl.gz", ".json", ".json.gz")
OTHERS = frozenset({"run.jsonl", "passages.jsonl", "passages.jsonl.gz"})
"""Other files that may be in the folder: a run and a collection."""


def recognize(path: Path) -> bool:
    """Whether a file, or a file of a folder, starts with an entry."""

    def starts_with_entry(file: Path) -> bool:
        is_other = path.is_dir() and file.name in OTHERS
        return not is_other and starts_with_record(file, EXPECTED, {"id", "question", "references"})

    return any_file(path, SUFFIXES, starts_with_entry)


def read(path: Path) -> Iterator[Conversation]:
    """Yield each entry as a conversation of one turn, without its answer and references."""
    for _, entry in read_entries(path):
        yield Conversation(
            entry.id,
            (Turn(TurnId(entry.id, 1), entry.question, language=LANGUAGE),),
        )


def read_entries(path: Path) -> Iterator[tuple[Path, JWHREntry]]:
    """Yield the entries of a file, or of all files of a folder, each with its file. Ids must be distinct."""
    files = [path]
    if path.is_dir():
        files = [file for file in files_in(path, SUFFIXES) if file.name not in OTHERS]
    if not files:
        raise InputError(f"{path}: has no file {', '.join(SUFFIXES)}; expected files with {EXPECTED}.")
    owners: dict[int, Path] = {}
    for file in files:
        for label, entry in ENTRIES.read(file):
            for fault in entry_faults(entry):
                raise ENTRIES.mistake(file, label, fault)
            owner = owners.setdefault(entry.id, file)
            if owner != file:
                problem = f"id: is also in {owner.name}, and a run has one answer per id; give the files one by one"
                raise ENTRIES.mistake(file, label, problem)
            yield file, entry
