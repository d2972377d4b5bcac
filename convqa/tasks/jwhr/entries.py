"""Entries of files, checked: a fault ends the reading, oddities are told in one warning for each kind."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from convqa.errors import InputError
from convqa.files import log
from convqa.tasks.jwhr.files import files_of, named, read_values
from convqa.tasks.jwhr.rules import Finding, faults, oddities
from convqa.tasks.jwhr.schema import ADVICE, Entry
from convqa.validation import read_as

Kind = TypeVar("Kind", bound=Entry)


@dataclass(frozen=True, slots=True)
class Placed:
    """An entry with the file that it stands in."""

    file: Path
    entry: Entry


def read_entries(path: Path, quiet: bool = False) -> list[Placed]:
    """The entries of a file, or of all files of a folder, in order.

    :param quiet: say nothing of oddities: who reads a second time has heard of them.
    :raises InputError: naming file, line or record, entry and field of the first fault; also for an id that was there
        before, in whichever file: a run has one answer to an id.
    """
    placed: list[Placed] = []
    owners: dict[int, Path] = {}
    for file in files_of(path):
        notes = Notes(file)
        for place, entry in shaped(file, Entry):
            for fault in faults(entry):
                raise InputError(f"{file}: {place}: {fault.field}: {fault.message}. {ADVICE}")
            other = owners.setdefault(entry.id, file)
            if other != file:
                raise InputError(
                    f"{file}: {place}: id: is in {other.name} too, and a run has one answer to an id. Give the files "
                    "one by one."
                )
            for oddity in oddities(entry):
                notes.add(place, oddity)
            placed.append(Placed(file, entry))
        if not quiet:
            notes.tell()
    return placed


def shaped(file: Path, kind: type[Kind]) -> list[tuple[str, Kind]]:
    """The entries of one file, each with its place; only their shape is checked, and that no id is there twice.

    :param kind: an entry of the data, or of a run.
    :raises InputError: naming file, place and field.
    """
    found: list[tuple[str, Kind]] = []
    places: dict[int, str] = {}
    for line, value in read_values(file):
        place = named(line, value)
        entry = read_as(kind, value, f"{file}: {place}", ADVICE)
        first = places.setdefault(entry.id, line)
        if first != line:
            raise InputError(f"{file}: {place}: id: is that of {first} too; wanted another one.")
        found.append((place, entry))
    if not found:
        raise InputError(f"{file}: there is no entry in it. {ADVICE}")
    return found


class Notes:
    """Oddities of a file, counted by kind; each kind is one warning, which shows the first."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._kinds: dict[str, list[str]] = {}

    def add(self, place: str, finding: Finding) -> None:
        self._kinds.setdefault(finding.kind, []).append(f"{place}: {finding.field}: {finding.message}")

    def tell(self) -> None:
        for kind, found in self._kinds.items():
            log.warning("%s: %s: %d. The first: %s", self._file, kind, len(found), found[0])
