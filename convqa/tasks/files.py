"""Files of a task: which of a folder they are, their lines and JSON values, plain or gzip, and JSON written to one."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from convqa.errors import InputError
from convqa.files import MENDED, log, parse_json, parse_line, whole_file
from convqa.validation import shorten

_GZIP = b"\x1f\x8b"
_DAMAGED = (gzip.BadGzipFile, zlib.error, EOFError)

_LONGEST_LINE = 2**24
"""Bytes. Some kB of gzip can be hundreds of MB of one line, which no record is."""

_MOST_BLANK = 1_000_000
"""Blank lines in a row: some kB of gzip can be hundreds of millions."""


def file_at(path: Path, name: str) -> Path:
    """The file itself, or the one of that name in a directory."""
    return path / name if path.is_dir() else path


def files_in(folder: Path, endings: tuple[str, ...]) -> list[Path]:
    """The files of a folder that end so, by name, but for hidden ones."""
    try:
        return sorted(
            path
            for path in folder.iterdir()
            if path.name.endswith(endings) and not path.name.startswith(".") and path.is_file()
        )
    except OSError as error:
        raise InputError(f"{folder}: cannot be read ({error.strerror}); wanted a folder that can.") from None


def any_file(path: Path, endings: tuple[str, ...], wanted: Callable[[Path], bool]) -> bool:
    """Whether a file, or one of a folder with such an ending, is as wanted; what cannot be read is not."""
    try:
        return any(wanted(file) for file in (files_in(path, endings) if path.is_dir() else [path]))
    except InputError:
        return False


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


def read_lines(path: Path, wanted: str, longest: int = _LONGEST_LINE) -> Iterator[tuple[int, bytes]]:
    """(number from 1, line with its end). The first bytes tell whether a file is gzip, not its name.

    :param longest: bytes of a line; -1: whatever there is.
    :raises InputError: if it cannot be read, a line is longer, too many in a row are blank, or its gzip is damaged,
        naming the line.
    """
    number = blank = 0
    with _opened(path, wanted) as (raw, packed):
        # No BufferedReader around it: that takes a signal while it looks whether the file is closed for "it is".
        stream = gzip.GzipFile(fileobj=raw) if packed else raw
        try:
            while line := stream.readline(longest):
                number += 1
                if len(line) == longest and not line.endswith(b"\n"):
                    raise InputError(f"{path}: line {number}: is longer than {longest:,} bytes; wanted {wanted}.")
                blank = blank + 1 if line.isspace() else 0
                if blank > _MOST_BLANK:
                    raise InputError(f"{path}: line {number}: {blank:,} blank lines in a row; wanted {wanted}.")
                yield number, line
        except _DAMAGED as error:
            raise InputError(
                f"{path}: behind line {number}: the gzip is damaged ({error}). Copy the file again."
            ) from None


def read_values(path: Path, wanted: str, advice: str, array: bool) -> Iterator[tuple[str, Any]]:
    """The values of a JSON array, or of JSON lines, each with its place (``record 2``, from 0 on, or ``line 3``).

    Of JSON lines blank ones are skipped and half surrogates replaced, with a warning.

    :raises InputError: naming line and column of what is no JSON; also for what is no array, and a damaged gzip.
    """
    if array:
        data = b"".join(line for _, line in read_lines(path, wanted, -1))
        if not data.strip():
            raise InputError(f"{path}: the file is empty; wanted {wanted}.")
        records = parse_json(path, data, wanted)
        if not isinstance(records, list):
            raise InputError(f"{path}: found {shorten(records)}; wanted {wanted}.")
        yield from ((f"record {index}", record) for index, record in enumerate(records))
        return
    for number, line in read_lines(path, wanted):
        if line.strip():
            where = f"{path}: line {number}"
            value, mended = parse_line(line, where, advice, number == 1)
            if mended:
                log.warning(MENDED, where, mended)
            yield f"line {number}", value


def read_start(path: Path, wanted: str, size: int) -> tuple[bytes, bool]:
    """The first ``size`` bytes of what a file holds, and whether it is gzip.

    Of gzip that is damaged further on, what comes before that: whoever reads all of it says where.

    :raises InputError: as ``read_lines`` does; also for what is no file but a pipe, which can be read only once.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InputError(f"{path}: is no file that can be read twice (a pipe?); save it, and give the file's path.")
    with _opened(path, wanted) as (raw, packed):
        if not packed:
            return raw.read(size), False
        stream, data = gzip.GzipFile(fileobj=raw), bytearray()
        try:
            while len(data) < size and (piece := stream.read1(size - len(data))):
                data += piece
        except _DAMAGED as error:
            if not data:
                raise InputError(f"{path}: the gzip is damaged ({error}). Copy the file again.") from None
        return bytes(data), True


@contextmanager
def _opened(path: Path, wanted: str) -> Iterator[tuple[IO[bytes], bool]]:
    """A file, and whether it is gzip."""
    try:
        with path.open("rb") as raw:
            yield raw, raw.peek(2)[:2] == _GZIP
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; wanted {wanted}.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); wanted {wanted}.") from None


def write_members(path: Path, members: Iterable[bytes], brackets: bytes) -> Path:
    """Write the members of a JSON array or object (``b"[]"``, ``b"{}"``), one a line, whole or not at all."""
    with whole_file(path) as stream:
        before = brackets[:1] + b"\n"
        for member in members:
            stream.write(before + member)
            before = b",\n"
        stream.write(b"\n" + brackets[1:] + b"\n" if before == b",\n" else brackets + b"\n")
    return path
