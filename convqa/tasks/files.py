"""Task files: finding them in a folder, reading lines and JSON values (plain or gzip), and writing JSON."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any

from pydantic import AfterValidator, Strict
from pydantic_core import PydanticCustomError

from convqa.errors import InputError
from convqa.files import REPLACED, files_in, log, parse_json, parse_line, read_json, whole_file
from convqa.validation import shorten

_GZIP = b"\x1f\x8b"
_GZIP_WINDOW = 31
"""zlib's largest window, and 16 for a header of gzip."""
_DAMAGED = (gzip.BadGzipFile, zlib.error, EOFError)

_LONGEST_LINE = 2**24
"""Maximum bytes per line: a few kB of gzip can expand to one line of hundreds of MB."""


def refuse_surrogates(text: str) -> str:
    """Refuse lone surrogates, at which official scripts stop, as a pydantic validator."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise PydanticCustomError("surrogate", "expected text without lone surrogates") from None
    return text


UnicodeText = Annotated[str, Strict(), AfterValidator(refuse_surrogates)]


def file_at(path: Path, name: str) -> Path:
    """Return the file itself, or the file of that name in a directory."""
    return path / name if path.is_dir() else path


def any_file(
    path: Path,
    endings: tuple[str, ...],
    matches: Callable[[Path], object],
) -> bool:
    """Whether a file matches, or a file of a folder with one of these endings; an unreadable file does not."""
    try:
        return any(matches(file) for file in (files_in(path, endings) if path.is_dir() else [path]))
    except InputError:
        return False


def only_file(
    path: Path,
    endings: tuple[str, ...],
    matches: Callable[[Path], object],
    expected: str,
) -> Path:
    """Return the path itself, or the only matching file of a folder.

    :raises InputError: if no file of the folder matches, or several do.
    """
    if not path.is_dir():
        return path
    files = [file for file in files_in(path, endings) if matches(file)]
    if len(files) != 1:
        names = ", ".join(file.name for file in files) or "none"
        raise InputError(f"{path}: expected one file with {expected}, got {names}. Give the path of a file.")
    return files[0]


def first_object(start: str) -> dict[str, Any]:
    """Return the JSON object at the start of a text or of an array in it; empty if there is none.

    >>> first_object('[{"id": 1}, {"id'), first_object("[1]"), first_object('{"id')
    ({'id': 1}, {}, {})
    """
    try:
        first, _ = json.JSONDecoder().raw_decode(start.lstrip().removeprefix("[").lstrip())
    except (ValueError, RecursionError):
        return {}
    return first if isinstance(first, dict) else {}


def starts_with_record(
    file: Path,
    expected: str,
    fields: set[str],
) -> bool:
    """Whether the first record of a file, JSON lines or an array, has these fields."""
    return fields <= first_object(start_text(file, expected)).keys()


def read_lines(
    path: Path,
    expected: str,
    longest: int = _LONGEST_LINE,
) -> Iterator[tuple[int, bytes]]:
    """Yield (number from 1, line with its line end). Gzip is recognized by content, not by name.

    :param longest: maximum bytes per line; -1: no limit.
    :raises InputError: if the file is unreadable, a line is too long or the gzip is damaged, naming the line.
    """
    number = 0
    with _opened(path, expected) as (raw, packed):
        # Not wrapped in a BufferedReader: a signal during its check for a closed file makes it report one.
        stream = gzip.GzipFile(fileobj=raw) if packed else raw
        try:
            while line := stream.readline(longest):
                number += 1
                if len(line) == longest and not line.endswith(b"\n"):
                    raise InputError(f"{path}: line {number}: is longer than {longest:,} bytes; expected {expected}.")
                yield number, line
        except _DAMAGED as error:
            raise InputError(
                f"{path}: after line {number}: the gzip is damaged ({error}). Copy the file again."
            ) from None


def read_document(path: Path, expected: str) -> Any:
    """Return the only JSON value of a file, plain or gzip.

    :raises InputError: for malformed JSON, naming line and column, and for damaged gzip.
    """
    data = b"".join(line for _, line in read_lines(path, expected, -1))
    if not data.strip():
        raise InputError(f"{path}: the file is empty; expected {expected}.")
    return parse_json(path, data, expected)


def read_official_array(path: Path, expected: str) -> list[Any]:
    """Return the JSON array in a file as official scripts read it, without checking its values."""
    records = read_json(path, expected, official=True)
    if not isinstance(records, list):
        raise InputError(f"{path}: expected {expected}, got {shorten(records)}.")
    return records


def read_values(
    path: Path,
    expected: str,
    array: bool | None = None,
) -> Iterator[tuple[str, Any]]:
    """Yield the values of a JSON array or of JSON lines, each with its position (``record 2`` from 0, or ``line 3``).

    In JSON lines, blank lines are skipped and lone surrogates replaced with a warning.

    :param array: whether the file is an array; None: as it begins.
    :raises InputError: for malformed JSON, naming line and column, for anything but an array, and for damaged gzip.
    """
    if array is None:
        array = is_array(path, expected)
    if array:
        records = read_document(path, expected)
        if not isinstance(records, list):
            raise InputError(f"{path}: expected {expected}, got {shorten(records)}.")
        for index, record in enumerate(records):
            yield f"record {index}", record
        return
    for number, line in read_lines(path, expected):
        if line.strip():
            where = f"{path}: line {number}"
            value, replaced = parse_line(line, where, f"Expected: {expected}.", number == 1)
            if replaced:
                log.warning(REPLACED, where, replaced)
            yield f"line {number}", value


def read_start(
    path: Path,
    expected: str,
    size: int,
) -> bytes:
    """Return the first ``size`` bytes of a file, unpacked if it is gzip.

    :raises InputError: as ``read_lines`` does, and for a pipe, which can be read only once.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InputError(f"{path}: cannot be read twice (is it a pipe?); save it to a file and give the file's path.")
    with _opened(path, expected) as (raw, packed):
        if not packed:
            return raw.read(size)
        try:
            return zlib.decompressobj(_GZIP_WINDOW).decompress(raw.read(size), size)
        except zlib.error as error:
            raise InputError(f"{path}: the gzip is damaged ({error}). Copy the file again.") from None


def start_text(path: Path, expected: str) -> str:
    """Return the start of a file as text, without a byte order mark and leading blanks, to recognize its format."""
    return read_start(path, expected, 2**20).decode("utf-8-sig", "replace").lstrip()


def is_array(path: Path, expected: str) -> bool:
    """Whether a file begins like a JSON array, rather than JSON lines."""
    return start_text(path, expected).startswith("[")


@contextmanager
def _opened(path: Path, expected: str) -> Iterator[tuple[IO[bytes], bool]]:
    """Open a file, and tell whether it is gzip."""
    try:
        with path.open("rb") as raw:
            yield raw, raw.peek(2)[:2] == _GZIP
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; expected {expected}.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); expected {expected}.") from None


def write_members(
    path: Path,
    members: Iterable[bytes],
    brackets: bytes,
) -> Path:
    """Write the members of a JSON array or object (``b"[]"``, ``b"{}"``), one per line, atomically."""
    with whole_file(path) as stream:
        before = brackets[:1] + b"\n"
        for member in members:
            stream.write(before + member)
            before = b",\n"
        stream.write(b"\n" + brackets[1:] + b"\n" if before == b",\n" else brackets + b"\n")
    return path
