"""A collection's flat files: memory-mapped arrays that only grow."""

from __future__ import annotations

import mmap
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from convqa.files import unwritable

Array = NDArray[Any]
Mask = NDArray[np.bool_]

NUMBER = np.dtype("<u4")
OFFSET = np.dtype("<i8")
BYTE = np.dtype("u1")


Sizes = Mapping[str, int]
"""The files that a manifest names, with the number of bytes in use."""


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
    sizes: Sizes,
) -> Array:
    """Map a file as a read-only array; an empty one if the manifest does not name it.

    :raises ValueError: if the file is shorter than the manifest says.
    """
    size = sizes.get(name, 0)
    if size == 0:
        return np.empty(0, dtype)
    with (data / name).open("rb") as file:
        return np.frombuffer(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ), dtype)


class ArrayWriter:
    """Appends arrays to files. Bytes beyond the sizes that the manifest names were never committed.

    ``sizes`` and CRC-32 ``checksums`` are those of all files with what was appended.
    """

    def __init__(self, data: Path, sizes: Sizes, checksums: Mapping[str, int]) -> None:
        self.data = data
        self._files: dict[str, BinaryIO] = {}
        self.sizes = dict(sizes)
        self.checksums = dict(checksums)

    def append(self, name: str, values: Array) -> None:
        size = self.sizes.get(name, 0)
        if name not in self._files:
            self._files[name] = self._open(self.data / name, size)
        items = np.ascontiguousarray(values).data
        self._files[name].write(items)
        self.sizes[name] = size + items.nbytes
        self.checksums[name] = crc32(items, self.checksums.get(name, 0))

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
        for name in [name for name in self.sizes if name.startswith(prefix)]:
            del self.sizes[name]
            del self.checksums[name]

    def sync(self) -> None:
        for file in self._files.values():
            file.flush()
            os.fsync(file.fileno())

    def close(self) -> None:
        for file in self._files.values():
            file.close()
