"""Reading JSON, with errors that name line and column, and writing files atomically."""

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
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import orjson

from convqa.errors import InputError, StorageFull

log = logging.getLogger("convqa")

_PATH_ERRORS = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.ENOENT, errno.EEXIST}
"""Errors caused by the path that the user chose, not by the disk."""

REPLACED = "%s: replaced %d lone surrogates by U+FFFD"

_SURROGATES = re.compile("[\ud800-\udfff]")
_ESCAPED_COLON = re.compile(rb"\\u003[aA]")


def read_bytes(path: Path, expected: str) -> bytes:
    """Return the bytes of a file.

    :param expected: what the file should contain, for messages.
    :raises InputError: if it is missing, empty or unreadable.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; expected {expected}.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); expected {expected}.") from None
    if not data.strip():
        raise InputError(f"{path}: the file is empty; expected {expected}.")
    return data


def read_json(path: Path, expected: str, official: bool = False) -> Any:
    """Return the JSON value in a file.

    A BOM is skipped, and lone surrogates are replaced by U+FFFD with one warning. NaN and infinity are accepted.

    :param official: read as official scripts do, by Python's ``json.load``: reject a BOM, keep lone surrogates.
    :raises InputError: naming line and column of invalid JSON.
    """
    data = read_bytes(path, expected)
    if official:
        refuse_bom(path, data)
    return parse_json(path, data, expected, official)


def refuse_bom(path: Path, start: bytes) -> None:
    """Reject a file that begins with a byte order mark, as official scripts do."""
    if start.startswith(BOM_UTF8):
        problem = "begins with a byte order mark (BOM), which the official script rejects"
        raise InputError(f"{path}: {problem}; save it as UTF-8 without BOM.")


def parse_json(
    path: Path,
    data: bytes,
    expected: str,
    official: bool = False,
) -> Any:
    """Parse the bytes of a file as :func:`read_json` does."""
    try:
        value, replaced = _parse(data, "utf-8-sig", official)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8; expected {expected} in UTF-8.") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"{path}: {where}: invalid JSON ({error.msg}); expected {expected}.") from None
    except (RecursionError, ValueError) as error:
        raise InputError(f"{path}: {_problem(error)}; expected {expected}.") from None
    if replaced:
        log.warning(REPLACED, path, replaced)
    return value


def parse_line(
    line: bytes,
    where: str,
    advice: str,
    first: bool = False,
) -> tuple[Any, int]:
    """Return the JSON value of a line and how many of its lone surrogates were replaced by U+FFFD.

    :param where: names the line in messages. :param advice: ends each message. :param first: skip a BOM.
    :raises InputError: naming the column of invalid JSON.
    """
    try:
        return _parse(line, "utf-8-sig" if first else "utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: byte {error.start + 1} is not UTF-8. {advice}") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{where}, column {error.colno}: invalid JSON ({error.msg}). {advice}") from None
    except (RecursionError, ValueError) as error:
        raise InputError(f"{where}: {_problem(error)}. {advice}") from None


def _problem(error: RecursionError | ValueError) -> str:
    """Explain why well-formed JSON is rejected."""
    if isinstance(error, _DuplicateKey):
        return str(error)
    if isinstance(error, RecursionError):
        return "the JSON is nested too deeply"
    return f"the JSON has a number with more than {sys.get_int_max_str_digits():,} digits"


class _DuplicateKey(ValueError):
    """An object has two values for one key."""


def _parse(
    data: bytes,
    encoding: str,
    keep_surrogates: bool = False,
) -> tuple[Any, int]:
    """Return a JSON value and how many lone surrogates were replaced.

    orjson is fast and strict. The standard library locates errors and accepts lone surrogates and NaN.

    :raises ValueError: for invalid JSON and for duplicate keys, of which both parsers would keep the last.
    """
    try:
        value = orjson.loads(data)
        # Because orjson drops all but the last value of a duplicate key, its output then has fewer colons than the
        # input. Colons in strings occur in both, except escaped ones (\u003a), which are written unescaped: those
        # texts are left to the standard library.
        may_hide_colons = b"\\" in data and _ESCAPED_COLON.search(data)
        if data.count(b":") == orjson.dumps(value).count(b":") and not may_hide_colons:
            return value, 0
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        pass
    value = json.loads(data.decode(encoding).rstrip(), object_pairs_hook=_unique)
    replaced = 0 if keep_surrogates else len(_SURROGATES.findall(json.dumps(value, ensure_ascii=False)))
    return (replace_surrogates(value) if replaced else value), replaced


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        key, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise _DuplicateKey(f"duplicate key {key!r} in {value!r:.80}")
    return value


def replace_surrogates(value: Any) -> Any:
    """Return a JSON value with U+FFFD in place of lone surrogates.

    >>> replace_surrogates({"a": ["x \\ud800"]})
    {'a': ['x \ufffd']}
    """
    if isinstance(value, str):
        return _SURROGATES.sub("\ufffd", value)
    if isinstance(value, list):
        return [replace_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {replace_surrogates(key): replace_surrogates(item) for key, item in value.items()}
    return value


def to_json_bytes(value: Any) -> bytes:
    """Return compact JSON in UTF-8, with numpy's floats in their shortest form and U+FFFD for lone surrogates.

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
    """Write a file atomically: to a temporary file in the same directory, fsynced and renamed.

    If the block raises, the temporary file is removed and the error propagates unchanged. A killed process leaves its
    temporary file (:func:`part_of`), which the next writer replaces.

    :raises InputError: if the path is not writable.
    :raises StorageFull: if writing fails.
    """
    temporary = part_of(path)
    try:
        with write_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            stream = io.BufferedWriter(_TemporaryFile(temporary, path))
        with stream:
            yield stream
            stream.flush()
            with write_errors(path):
                os.fsync(stream.fileno())
        with write_errors(path):
            temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def part_of(path: Path) -> Path:
    """Return the path of the temporary file of :func:`whole_file`."""
    return path.with_name(f".{path.name}.part")


class _TemporaryFile(io.FileIO):
    """A file whose write errors differ from the other errors of a ``with whole_file`` block."""

    def __init__(self, temporary: Path, path: Path) -> None:
        super().__init__(temporary, "wb")
        self._path = path

    def write(self, data: Any) -> int:
        with write_errors(self._path):
            return super().write(data)


@contextmanager
def write_errors(what: str | Path) -> Iterator[None]:
    """Raise the errors of writing something as :func:`unwritable` describes them."""
    try:
        yield
    except OSError as error:
        raise unwritable(str(what), error) from error


def unwritable(what: str, error: OSError) -> InputError | StorageFull:
    """Return the error to raise if something cannot be written: the user's mistake, or a fault of the disk."""
    reason = error.strerror or str(error)
    if error.errno in _PATH_ERRORS:
        return InputError(f"{what}: cannot be written ({reason}); choose another place.")
    return StorageFull(f"{what}: cannot be written ({reason}); free space or choose another place.")


def files_in(folder: Path, endings: tuple[str, ...]) -> list[Path]:
    """Return the files of a folder with one of these endings, by name, without hidden ones."""
    try:
        return sorted(
            path
            for path in folder.iterdir()
            if path.name.endswith(endings) and not path.name.startswith(".") and path.is_file()
        )
    except OSError as error:
        raise InputError(f"{folder}: cannot be read ({error.strerror}); expected a readable folder.") from None
