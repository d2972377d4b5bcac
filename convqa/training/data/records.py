"""Read and validate the records of data files. Errors name file, record or line, and field."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from convqa.errors import InputError
from convqa.files import parse_line, read_bytes, read_json
from convqa.validation import Record, Shape, read_as


class Truth(Record):
    """A turn of a benchmark that ``convqa download`` converted."""

    Conversation_no: int
    Truth_passages: list[str]
    Truth_answer: str = ""
    Answerable: bool = True


class PassageLine(Record):
    """A line of passages.jsonl."""

    id: str
    text: str
    title: str = ""


def named_folder(data: Path | None) -> Path:
    """Return the data folder if it is named and exists.

    :raises InputError: otherwise.
    """
    if data is None:
        raise InputError(
            "data: missing data folder; the examples are not part of convqa. Name it with --data FOLDER, with "
            "CONVQA_DATA in the environment, or as data in the training file. See docs/reference/training.md for its "
            "contents."
        )
    if not data.is_dir():
        raise InputError(f"{data}: no such folder; expected the data folder that docs/reference/training.md describes.")
    return data


def need_files(folder: Path, names: Iterable[str]) -> None:
    """Raise InputError if the data folder lacks a file."""
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise InputError(f"{folder}: the data folder lacks {', '.join(missing)}. See docs/reference/training.md.")


def read_list(path: Path, kind: type[Shape], expected: str) -> list[Shape]:
    """Read the records of a JSON list, or the values of an object. ``expected`` describes the file in errors."""
    data: Any = read_json(path, expected)
    items = {f"record {index}": item for index, item in enumerate(data)} if isinstance(data, list) else data
    if not isinstance(items, dict):
        raise InputError(f"{path}: expected {expected}, got {type(data).__name__}.")
    return [read_as(kind, item, f"{path}: {name}", f"Expected {expected}.") for name, item in items.items()]


def read_lines(path: Path, kind: type[Shape], expected: str) -> list[Shape]:
    """Read the records of a JSON Lines file, skipping blank lines."""
    records = []
    for number, line in enumerate(read_bytes(path, expected).splitlines(), 1):
        if line.strip():
            where, advice = f"{path}: line {number}", f"Expected {expected}."
            records.append(read_as(kind, parse_line(line, where, advice)[0], where, advice))
    return records
