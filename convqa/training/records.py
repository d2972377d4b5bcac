"""Records of data files, checked: a mistake is named with file, record or line, field, and what was wanted."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from convqa.errors import InputError
from convqa.files import read_bytes, read_json
from convqa.validation import explain

Record = TypeVar("Record", bound=BaseModel)


def read_list(path: Path, kind: type[Record], wanted: str) -> list[Record]:
    """The records of a JSON list.

    :raises InputError: naming the first mistake, as the others here do.
    """
    found = read_json(path, wanted)
    if not isinstance(found, list):
        raise InputError(f"{path}: found no list; wanted {wanted}.")
    return [_checked(value, kind, f"{path}: record {index}", wanted) for index, value in enumerate(found)]


def read_titled(path: Path, kind: type[Record], wanted: str) -> dict[str, Record]:
    """The records of a JSON object, by their titles."""
    found = read_json(path, wanted)
    if not isinstance(found, dict):
        raise InputError(f"{path}: found no object; wanted {wanted}.")
    return {title: _checked(value, kind, f"{path}: {title}", wanted) for title, value in found.items()}


def read_lines(path: Path, kind: type[Record], wanted: str) -> list[Record]:
    """The records of a file with one JSON object a line; blank lines say nothing."""
    lines = enumerate(read_bytes(path, wanted).splitlines(), 1)
    return [_from_line(line, kind, f"{path}: line {number}", wanted) for number, line in lines if line.strip()]


def _from_line(line: bytes, kind: type[Record], where: str, wanted: str) -> Record:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InputError(f"{where}: this is no JSON ({error.msg}); wanted {wanted}.") from None
    return _checked(value, kind, where, wanted)


def _checked(value: Any, kind: type[Record], where: str, wanted: str) -> Record:
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        mistakes = "; ".join(f"{place or 'the record'}: {message}" for place, message in explain(error))
        raise InputError(f"{where}: {mistakes}. Wanted: {wanted}.") from None
