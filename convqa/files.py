"""Reading and writing files: JSON with errors that name the place, and files that appear whole or not at all."""

from __future__ import annotations

import errno
import io
import json
import logging
import os
import re
import sys
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import orjson

from convqa.errors import InputError, StorageFull

log = logging.getLogger("convqa")

_NOT_A_PLACE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.ENOENT, errno.EEXIST}
"""Errors of a place that the user chose, where those of a disk have other numbers."""

MENDED = "%s: replaced %d lone surrogates (half characters) by U+FFFD"

_SURROGATES = re.compile("[\ud800-\udfff]")
_COLON = re.compile(rb"\\u003[aA]")


def read_bytes(path: Path, wanted: str) -> bytes:
    """The bytes of a file.

    :raises InputError: if it is missing, empty or unreadable; ``wanted`` says what should be there.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; wanted {wanted}.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); wanted {wanted}.") from None
    if not data.strip():
        raise InputError(f"{path}: the file is empty; wanted {wanted}.")
    return data


def read_json(path: Path, wanted: str, official: bool = False) -> Any:
    """The JSON value in a file. Lone surrogates are replaced by U+FFFD with one warning; a BOM is skipped.

    NaN and infinity are read as such, for the caller to refuse where they stand.

    :param official: as official scripts read it, by Python's ``json.load``: a BOM is refused, lone surrogates stay.
    :raises InputError: naming line and column of what is no JSON.
    """
    data = read_bytes(path, wanted)
    if official:
        refuse_bom(path, data)
    return parse_json(path, data, wanted, official)


def refuse_bom(path: Path, start: bytes) -> None:
    """Refuse a file whose bytes begin with a byte order mark, at which official scripts stop."""
    if start.startswith(BOM_UTF8):
        said = "begins with a byte order mark (BOM), at which the official script stops"
        raise InputError(f"{path}: {said}; save it as UTF-8 without one.")


def parse_json(path: Path, data: bytes, wanted: str, official: bool = False) -> Any:
    """The JSON value in the bytes of a file, as :func:`read_json` gives it."""
    try:
        value, mended = _value(data, "utf-8-sig", official)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8; wanted {wanted} in UTF-8.") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        at_end = error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")
        cut = " The file seems to be cut off: copy it again." if at_end else ""
        raise InputError(f"{path}: {where}: this is no JSON ({error.msg}); wanted {wanted}.{cut}") from None
    except (RecursionError, ValueError) as error:
        raise InputError(f"{path}: {_unread(error)}; wanted {wanted}.") from None
    if mended:
        log.warning(MENDED, path, mended)
    return value


def parse_line(line: bytes, where: str, advice: str, first: bool = False) -> tuple[Any, int]:
    """The JSON value in a line, and how many lone surrogates in it were replaced by U+FFFD.

    :param where: the line, as messages name it. :param advice: what they end with. :param first: a BOM is skipped.
    :raises InputError: naming the column of what is no JSON.
    """
    try:
        return _value(line, "utf-8-sig" if first else "utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: byte {error.start + 1} is not UTF-8. {advice}") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{where}, column {error.colno}: this is no JSON ({error.msg}). {advice}") from None
    except (RecursionError, ValueError) as error:
        raise InputError(f"{where}: {_unread(error)}. {advice}") from None


def _unread(error: RecursionError | ValueError) -> str:
    """Say why a JSON text that is well formed cannot be read."""
    if isinstance(error, _KeyTwice):
        return str(error)
    if isinstance(error, RecursionError):
        return "the JSON is nested too deeply"
    return f"the JSON holds a number of more than {sys.get_int_max_str_digits():,} digits"


class _KeyTwice(ValueError):
    """An object has a key twice, of which only one value could be read."""


def _value(data: bytes, encoding: str, surrogates: bool = False) -> tuple[Any, int]:
    """A JSON value, and how many lone surrogates were replaced in it (none, if they are to stay).

    orjson is fast and strict. The standard library says what is wrong, and accepts lone surrogates and NaN.

    :raises ValueError: for what is no JSON, and a key that is there twice, of which both would take the last.
    """
    try:
        value = orjson.loads(data)
        # orjson keeps the last value of a key that is there twice, so that its text has fewer colons than the one that
        # was read. Those within strings count on both sides, but for a colon that was escaped (\u003a) and is written
        # plain: such texts go to the standard library, which shows every key.
        if data.count(b":") == orjson.dumps(value).count(b":") and (b"\\" not in data or not _COLON.search(data)):
            return value, 0
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        pass
    value = json.loads(data.decode(encoding).rstrip(), object_pairs_hook=_object)
    return (value, 0) if surrogates else mend(value)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        key, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise _KeyTwice(f"the key {key!r} is there twice in {found!r:.80}")
    return found


def mend(value: Any) -> tuple[Any, int]:
    """A JSON value with its lone surrogates replaced by U+FFFD, and how many they were.

    >>> mend({"a": ["x \\ud800"]})
    ({'a': ['x \ufffd']}, 1)
    """
    if isinstance(value, str):
        return _SURROGATES.subn("\ufffd", value)
    if isinstance(value, list):
        items = [mend(item) for item in value]
        return [item for item, _ in items], sum(count for _, count in items)
    if isinstance(value, dict):
        keys, items = [mend(key) for key in value], [mend(item) for item in value.values()]
        pairs = zip(keys, items, strict=True)
        return {key: item for (key, _), (item, _) in pairs}, sum(count for _, count in (*keys, *items))
    return value, 0


def to_json_bytes(value: Any) -> bytes:
    """Compact JSON in UTF-8; numpy's 32-bit floats take their shortest form; lone surrogates become U+FFFD.

    >>> to_json_bytes({"a": "b"})
    b'{"a":"b"}'
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
    except TypeError:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=lambda item: float(str(item)))
        return _SURROGATES.sub("\ufffd", text).encode()


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that appears whole or not at all: written aside in the same directory, flushed, fsynced and renamed.

    Whatever is raised inside removes the part written so far, and goes on as it is: an error of what is being read
    to be written here is not this file's. A kill leaves the part (:func:`part_of`), which the next writer replaces.

    :raises InputError: if this is no place to write to.
    :raises StorageFull: if the file cannot be written.
    """
    aside = part_of(path)
    try:
        with _errors_of(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            stream = io.BufferedWriter(_Raw(aside, path))
        with stream:
            yield stream
            stream.flush()
            with _errors_of(path):
                os.fsync(stream.fileno())
        with _errors_of(path):
            aside.replace(path)
            sync_directory(path.parent)
    finally:
        _remove(aside)


def part_of(path: Path) -> Path:
    """Where a file is written before it is whole."""
    return path.with_name(f".{path.name}.part")


class _Raw(io.FileIO):
    """A file whose errors are told from those of what is written into it."""

    def __init__(self, aside: Path, path: Path) -> None:
        super().__init__(aside, "wb")
        self._path = path

    def write(self, data: Any) -> int:
        with _errors_of(self._path):
            return super().write(data)


@contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unwritable(str(path), error) from error


def unwritable(what: str, error: OSError) -> InputError | StorageFull:
    """The error to raise when something cannot be written: a mistake in the place, or a fault of the disk."""
    reason = error.strerror or str(error)
    if error.errno in _NOT_A_PLACE:
        return InputError(f"{what}: cannot be written ({reason}); choose another place.")
    return StorageFull(f"{what}: cannot be written ({reason}); free space or choose another place.")


def _remove(path: Path) -> None:
    """Remove a file that may be gone, or lie where nothing can be changed."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        log.debug("%s: cannot be removed (%s)", path, error)


def sync_directory(directory: Path) -> None:
    """Make a rename durable."""
    if os.name == "nt":  # a directory cannot be opened there, and a rename needs no more
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
