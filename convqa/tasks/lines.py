"""Files of a folder, and the lines of a file that may be gzip, one after another: memory does not grow with it."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

from convqa.errors import InputError

_GZIP = b"\x1f\x8b"
_DAMAGED = (gzip.BadGzipFile, zlib.error, EOFError)


def files_in(folder: Path, endings: tuple[str, ...]) -> list[Path]:
    """The files of a folder that end so, by name, but for hidden ones.

    :raises InputError: if the folder cannot be read.
    """
    try:
        return sorted(
            path
            for path in folder.iterdir()
            if path.name.endswith(endings) and not path.name.startswith(".") and path.is_file()
        )
    except OSError as error:
        raise InputError(f"{folder}: cannot be read ({error.strerror}); wanted a folder that can.") from None


def first_object(start: str) -> dict[str, Any]:
    """The JSON object that a text begins with, or that an array in it begins with; empty where there is none.

    >>> first_object('[{"id": 1}, {"id'), first_object("[1]"), first_object('{"id')
    ({'id': 1}, {}, {})
    """
    try:
        first, _ = json.JSONDecoder().raw_decode(start.lstrip().removeprefix("[").lstrip())
    except (ValueError, RecursionError):
        return {}
    return first if isinstance(first, dict) else {}


def read_lines(path: Path, wanted: str) -> Iterator[tuple[int, bytes]]:
    """(number from 1, line with its end). The first bytes tell whether a file is gzip, not its name.

    :raises InputError: if it cannot be read, or its gzip is damaged, naming the line.
    """
    number = 0
    try:
        with path.open("rb") as raw:
            stream = cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if raw.peek(2)[:2] == _GZIP else raw
            for number, line in enumerate(stream, 1):
                yield number, line
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; wanted {wanted}.") from None
    except _DAMAGED as error:
        raise InputError(f"{path}: behind line {number}: the gzip is damaged ({error}). Copy the file again.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); wanted {wanted}.") from None


def read_start(path: Path, wanted: str, size: int) -> tuple[bytes, bool]:
    """The first ``size`` bytes of what a file holds, and whether it is gzip.

    Of gzip that is damaged further on, what comes before that: whoever reads all of it says where.

    :raises InputError: as ``read_lines`` does; also for what is no file but a pipe, which can be read only once.
    """
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise InputError(f"{path}: is no file that can be read twice (a pipe?); save it, and give the file's path.")
        with path.open("rb") as raw:
            packed = raw.peek(2)[:2] == _GZIP
            return (_unpacked(raw, size) if packed else raw.read(size)), packed
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; wanted {wanted}.") from None
    except _DAMAGED as error:
        raise InputError(f"{path}: the gzip is damaged ({error}). Copy the file again.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); wanted {wanted}.") from None


def _unpacked(raw: IO[bytes], size: int) -> bytes:
    """The first ``size`` bytes in a gzip, fewer where it is damaged further on."""
    stream, data = gzip.GzipFile(fileobj=raw), bytearray()
    try:
        while len(data) < size and (piece := stream.read1(size - len(data))):
            data += piece
    except _DAMAGED:
        if not data:
            raise
    return bytes(data)
