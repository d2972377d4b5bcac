"""A collection's flat files: memory-mapped arrays that only grow.

``sizes`` are the files that the manifest names, with the number and checksum of their used bytes.
"""

from __future__ import annotations

import mmap
import os
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.files import unwritable

Array = NDArray[Any]
Mask = NDArray[np.bool_]

NUMBER = np.dtype("<u4")
OFFSET = np.dtype("<i8")
_PIECE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Extent:
    """The number of bytes of a file that are in use, and their CRC-32."""

    size: int
    crc32: int


Sizes = Mapping[str, Extent]


class Damage(ValueError):
    """A file is cut or corrupt. The message names it."""


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Name the collection in errors of writing, such as a full disk."""
    try:
        yield
    except OSError as error:
        raise unwritable(f"collection {folder}", error) from error
    except sqlite3.OperationalError as error:
        raise unwritable(f"collection {folder}", OSError(str(error))) from error


def array(
    data: Path,
    name: str,
    dtype: np.dtype[Any],
    sizes: Sizes,
) -> Array:
    """Map a file as a read-only array; an empty one if the manifest does not name it."""
    size = sizes[name].size if name in sizes else 0
    if size == 0:
        return np.empty(0, dtype)
    with (data / name).open("rb") as file:
        try:
            mapped = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
        except ValueError as error:
            raise Damage(f"{name} has fewer than {size} bytes") from error
    return np.frombuffer(mapped, dtype)


def write_array(data: Path, name: str, values: Array) -> dict[str, Extent]:
    """Write and sync an array as a new file; return its name and extent."""
    file = Appender(data, name, values.dtype, {})
    file.append(values)
    extents = file.sync()
    file.close()
    return extents


class Appender:
    """A file that grows from the size that the manifest names; bytes beyond it were never committed."""

    def __init__(
        self,
        data: Path,
        name: str,
        dtype: np.dtype[Any],
        sizes: Sizes,
    ) -> None:
        self._name = name
        self._dtype = dtype
        committed = sizes.get(name, Extent(0, 0))
        self._size = committed.size
        self._crc32 = committed.crc32
        if self._size == 0:
            # A new inode, because readers may still map an unused file of this name.
            (data / name).unlink(missing_ok=True)
        self._file = (data / name).open("r+b" if self._size else "w+b")
        self._file.truncate(self._size)
        self._file.seek(self._size)

    def __len__(self) -> int:
        """Return the number of items, committed or not."""
        return self._size // self._dtype.itemsize

    def append(self, values: Array) -> None:
        items = np.ascontiguousarray(values, self._dtype).data
        self._file.write(items)
        self._size += items.nbytes
        self._crc32 = zlib.crc32(items, self._crc32)

    def sync(self) -> dict[str, Extent]:
        """Sync the file; return its name and extent."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return {self._name: Extent(self._size, self._crc32)}

    def close(self) -> None:
        self._file.close()


def damage(path: Path, extent: Extent) -> str:
    """Describe the damage of a file; "" if it is intact.

    :raises PermissionError: if the file is not readable, which is not damage.
    """
    crc32 = 0
    left = extent.size
    try:
        with path.open("rb") as file:
            while left > 0:
                piece = file.read(min(left, _PIECE_BYTES))
                if not piece:
                    return f"has {extent.size - left} of {extent.size} bytes"
                crc32 = zlib.crc32(piece, crc32)
                left -= len(piece)
    except PermissionError:
        raise
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    return "" if extent.crc32 == crc32 else "its checksum does not match"
