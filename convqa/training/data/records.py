"""Records of data files, checked: a mistake is named with file, record or line, field, and what was wanted."""

from __future__ import annotations

from pathlib import Path

import orjson

from convqa.errors import InputError
from convqa.files import read_bytes, read_json
from convqa.validation import Shape, read_as


def named_folder(data: Path | None) -> Path:
    """The data folder.

    :raises InputError: if none was named, or there is none of that name.
    """
    if data is None:
        raise InputError(
            "no data folder is named: the examples are not part of convqa. Name it with --data FOLDER, with "
            "CONVQA_DATA in the environment, or as data in the training file. docs/training.md says what it must hold."
        )
    if not data.is_dir():
        raise InputError(f"{data}: no such folder; wanted the data folder that docs/training.md describes.")
    return data


def read_list(path: Path, kind: type[Shape], wanted: str) -> list[Shape]:
    """The records of a JSON list.

    :raises InputError: naming the first mistake, as the others here do.
    """
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
    lines = enumerate(read_bytes(path, wanted).splitlines(), 1)
    return [_from_line(line, kind, f"{path}: line {number}", wanted) for number, line in lines if line.strip()]


def _from_line(line: bytes, kind: type[Shape], where: str, wanted: str) -> Shape:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InputError(f"{where}: this is no JSON ({error.msg}); wanted {wanted}.") from None
    return read_as(kind, value, where, f"Wanted: {wanted}.")
