"""The lines of a file that may be gzip, one after another, so that memory does not grow with the file."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from convqa.errors import InputError

_GZIP = b"\x1f\x8b"


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
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise InputError(f"{path}: behind line {number}: the gzip is damaged ({error}). Copy the file again.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); wanted {wanted}.") from None


def read_start(path: Path, wanted: str, size: int) -> tuple[bytes, bool]:
    """The first ``size`` bytes of what a file holds, and whether it is gzip.

    :raises InputError: as ``read_lines`` does.
    """
    try:
        with path.open("rb") as raw:
            packed = raw.peek(2)[:2] == _GZIP
            return (gzip.GzipFile(fileobj=raw) if packed else raw).read(size), packed
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; wanted {wanted}.") from None
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise InputError(f"{path}: the gzip is damaged ({error}). Copy the file again.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); wanted {wanted}.") from None
