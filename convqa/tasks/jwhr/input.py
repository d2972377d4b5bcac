"""Which files are the data set's, and their entries, checked: lines or an array, plain or gzip.

A fault ends the reading; oddities are told in one warning for each kind.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from convqa.errors import InputError
from convqa.files import MENDED, log, parse_json, parse_line
from convqa.tasks.jwhr.rules import Finding, faults, oddities
from convqa.tasks.jwhr.schema import ADVICE, WANTED, Entry
from convqa.tasks.lines import files_in, first_object, read_lines, read_start
from convqa.validation import read_as, shorten

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


SUFFIXES = (".jsonl", ".jsonl.gz", ".json", ".json.gz")
OTHERS = frozenset({"run.jsonl", "passages.jsonl", "passages.jsonl.gz"})
"""What may lie beside the data: a run of it, and a collection."""

_LOOKED_AT = 2**20


def files_of(path: Path) -> list[Path]:
    """The file, or the files of a folder that hold entries, by name.

    :raises InputError: if a folder cannot be read or has none.
    """
    if not path.is_dir():
        return [path]
    found = _candidates(path)
    if not found:
        raise InputError(f"{path}: has no file {', '.join(SUFFIXES)}; wanted files with {WANTED}.")
    return found


def looks_like_entries(path: Path) -> bool:
    """Whether a file, or a file of a folder, begins with an entry, or what was to be one."""
    try:
        return any(_begins_with_entry(file) for file in (_candidates(path) if path.is_dir() else [path]))
    except InputError:
        return False


def read_values(path: Path) -> Iterator[tuple[str, Any]]:
    """(``line 3`` of JSON lines or ``record 2`` of an array, from 0 on; value). Half surrogates are mended and told.

    :raises InputError: naming line and column of what is no JSON; also for damaged gzip and a file with nothing in it.
    """
    data = b"".join(line for _, line in read_lines(path, WANTED)).removeprefix(BOM_UTF8)
    if not data.strip():
        raise InputError(f"{path}: there is no entry in it; wanted {WANTED}.")
    if data.lstrip()[:1] == b"[":
        for index, value in enumerate(parse_json(path, data, WANTED)):
            yield f"record {index}", value
        return
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            value, mended = parse_line(line, f"{path}: line {number}", ADVICE)
            if mended:
                log.warning(MENDED, path, mended)
            yield f"line {number}", value


def named(place: str, value: Any) -> str:
    """How messages name an entry.

    >>> named("line 3", {"id": 17})
    'line 3 (entry 17)'
    """
    return f"{place} (entry {shorten(value['id'])})" if isinstance(value, dict) and "id" in value else place


def _candidates(folder: Path) -> list[Path]:
    return [path for path in files_in(folder, SUFFIXES) if path.name not in OTHERS]


def _begins_with_entry(path: Path) -> bool:
    start = read_start(path, WANTED, _LOOKED_AT)[0].decode("utf-8-sig", "replace")
    return {"id", "question", "references"} <= first_object(start).keys()
