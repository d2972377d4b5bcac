"""Which files are the data set's, and the JSON values in one: lines or an array, plain or gzip."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from convqa.errors import InputError
from convqa.files import MENDED, log, parse_json, parse_line
from convqa.tasks.jwhr.schema import ADVICE, WANTED
from convqa.tasks.lines import files_in, first_object, read_lines, read_start
from convqa.validation import shorten

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
