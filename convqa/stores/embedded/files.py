"""A collection's flat files: memory-mapped arrays that only grow.

``extents`` are the files that the manifest names, with the number and checksum of their used bytes.
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
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from convqa.files import unwritable

Array = NDArray[Any]
Mask = NDArray[np.bool_]

NUMBER = np.dtype("<u4")
OFFSET = np.dtype("<i8")
BYTE = np.dtype("u1")


@dataclass(frozen=True, slots=True)
class Extent:
    """The number of bytes of a file that are in use, and their CRC-32."""

    size: int
    crc32: int


EMPTY = Extent(0, 0)
Extents = Mapping[str, Extent]


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Name the collection in errors of writing, such as a full disk."""
    try:
        yield
    except (OSError, sqlite3.OperationalError) as error:
        raise unwritable(f"collection {folder}", OSError(*error.args)) from error


def array(
    data: Path,
    name: str,
    dtype: np.dtype[Any],
    extents: Extents,
) -> Array:
    """Map a file as a read-only array; an empty one if the manifest does not name it.

    :raises ValueError: if the file is shorter than its extent.
    """
    size = extents.get(name, EMPTY).size
    if size == 0:
        return np.empty(0, dtype)
    with (data / name).open("rb") as file:
        return np.frombuffer(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ), dtype)


class ArrayWriter:
    """Appends arrays to files. Bytes beyond the extents that the manifest names were never committed.

    ``extents`` are those of all files with what was appended.
    """

    def __init__(self, data: Path, extents: Extents) -> None:
        self.data = data
        self._files: dict[str, BinaryIO] = {}
        self.extents = dict(extents)

    def count(self, name: str, dtype: np.dtype[Any]) -> int:
        """Return the number of items in a file."""
        return self.extents.get(name, EMPTY).size // dtype.itemsize

    def append(self, name: str, values: Array) -> None:
        before = self.extents.get(name, EMPTY)
        if name not in self._files:
            self._files[name] = self._open(self.data / name, before.size)
        items = np.ascontiguousarray(values).data
        self._files[name].write(items)
        self.extents[name] = Extent(before.size + items.nbytes, zlib.crc32(items, before.crc32))

    def _open(self, path: Path, size: int) -> BinaryIO:
        if size == 0:
            # A new inode, because readers may still map an unused file of this name.
            path.unlink(missing_ok=True)
        file = path.open("r+b" if size else "w+b")
        file.truncate(size)
        file.seek(size)
        return file

    def drop(self, prefix: str) -> None:
        """Leave out the files whose names have a prefix."""
        self.extents = {name: extent for name, extent in self.extents.items() if not name.startswith(prefix)}

    def sync(self) -> None:
        for file in self._files.values():
            file.flush()
            os.fsync(file.fileno())

    def close(self) -> None:
        for file in self._files.values():
            file.close()


def damage(data: Path, name: str, extent: Extent) -> str:
    """Describe the damage of a file; "" if it is intact.

    :raises PermissionError: if the file is not readable, which is not damage.
    """
    try:
        crc32 = zlib.crc32(array(data, name, BYTE, {name: extent}).data)
    except PermissionError:
        raise
    except (OSError, ValueError) as error:
        return f"cannot be read ({error})"
    return "" if extent.crc32 == crc32 else "its checksum does not match"
