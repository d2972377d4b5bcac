"""Records of data files, checked: a mistake is named with file, record or line, field, and what was wanted."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from convqa.errors import InputError
from convqa.files import parse_line, read_bytes, read_json
from convqa.validation import Shape, read_as


def named_folder(data: Path | None) -> Path:
    """The data folder."""
    if data is None:
        raise InputError(
            "no data folder is named: the examples are not part of convqa. Name it with --data FOLDER, with "
            "CONVQA_DATA in the environment, or as data in the training file. docs/training.md says what it must hold."
        )
    if not data.is_dir():
        raise InputError(f"{data}: no such folder; wanted the data folder that docs/training.md describes.")
    return data


def need_files(folder: Path, names: Iterable[str]) -> None:
    """Refuse a data folder that lacks files."""
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise InputError(f"{folder}: the data folder lacks {', '.join(missing)}. docs/training.md says what these are.")


def read_list(path: Path, kind: type[Shape], wanted: str) -> list[Shape]:
    """The records of a JSON list."""
    found = read_json(path, wanted)
    if not isinstance(found, list):
        raise InputError(f"{path}: found no list; wanted {wanted}.")
    return [read_as(kind, value, f"{path}: record {index}", f"Wanted: {wanted}.") for index, value in enumerate(found)]


def read_titled(path: Path, kind: type[Shape], wanted: str) -> dict[str, Shape]:
    """The records of a JSON object, by their titles."""
    found = read_json(path, wanted)
    if not isinstance(found, dict):
        raise InputError(f"{path}: found no object; wanted {wanted}.")
    return {title: read_as(kind, value, f"{path}: {title}", f"Wanted: {wanted}.") for title, value in found.items()}


def read_lines(path: Path, kind: type[Shape], wanted: str) -> list[Shape]:
    """The records of a file with one JSON object a line; blank lines say nothing."""
    found = []
    for number, line in enumerate(read_bytes(path, wanted).splitlines(), 1):
        if line.strip():
            where, advice = f"{path}: line {number}", f"Wanted: {wanted}."
            found.append(read_as(kind, parse_line(line, where, advice)[0], where, advice))
    return found
