"""JSON lines with id and text, which questions and passages are."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from convqa.errors import InputError
from convqa.tasks.lines import read_lines
from convqa.validation import shorten

_NOT_IN_IDS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class Record(NamedTuple):
    """A line: its number in the file, id and text, and the whole object."""

    line: int
    id: str
    text: str
    fields: dict[str, Any]


def read_records(path: Path, wanted: str) -> Iterator[Record]:
    """The lines of a file, plain or gzip, one at a time. A number as id becomes its string.

    A mark of byte order at the start is skipped.

    :raises InputError: naming line and field of the first that lacks or is another thing; also for an empty file.
    """
    empty = True
    for number, line in read_lines(path, wanted):
        empty = False
        yield _record(number, line.removeprefix(BOM_UTF8) if number == 1 else line, f"{path}: line {number}", wanted)
    if empty:
        raise InputError(f"{path}: the file is empty; wanted {wanted}.")


def _record(number: int, line: bytes, where: str, wanted: str) -> Record:
    if not line.strip():
        raise InputError(f"{where}: is blank; wanted {wanted}.")
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InputError(f"{where}: this is no JSON ({error.msg}); wanted {wanted}.") from None
    if not isinstance(found, dict):
        raise InputError(f"{where}: found {shorten(found)}; wanted {wanted}.")
    for field in ("id", "text"):
        if field not in found:
            raise InputError(f"{where}: {field}: is missing; wanted {wanted}.")
    id, text = found["id"], found["text"]
    if not isinstance(text, str):
        raise InputError(f"{where}: text: found {shorten(text)}; wanted a string.")
    return Record(number, _id(id, where), text, found)


def _id(found: Any, where: str) -> str:
    if type(found) is int:
        return str(found)
    if not isinstance(found, str) or not found.strip():
        raise InputError(f"{where}: id: found {shorten(found)}; wanted a string that is not blank, or a whole number.")
    if bad := _NOT_IN_IDS.search(found):
        raise InputError(
            f"{where}: id: found {shorten(found)} with the character U+{ord(bad[0]):04X}; wanted an id without TABs, "
            "line ends and other control characters: a line of out.tsv could not hold it."
        )
    return found
