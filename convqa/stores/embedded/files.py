"""A collection's files: memory-mapped, append-only arrays and blobs.

``sizes`` are the files that the manifest names, with the number and checksum of their used bytes.
"""

from __future__ import annotations

import mmap
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.files import unwritable
from convqa.stores.base import Integers

OFFSET = np.dtype("<i8")
_PIECE = 1 << 20


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


def array(folder: Path, name: str, dtype: np.dtype[Any], sizes: Sizes) -> NDArray[Any]:
    """Map a file as a read-only array; an empty one if the manifest does not name it."""
    return np.frombuffer(_mapped(folder, name, sizes), dtype)


def write_array(folder: Path, name: str, values: NDArray[Any]) -> dict[str, Extent]:
    """Write and sync an array as a file; return its name and extent."""
    data = np.ascontiguousarray(values).data
    with (folder / name).open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return {name: Extent(data.nbytes, zlib.crc32(data))}


def _mapped(folder: Path, name: str, sizes: Sizes) -> mmap.mmap | bytes:
    if name not in sizes or sizes[name].size == 0:
        return b""
    size = sizes[name].size
    with (folder / name).open("rb") as file:
        try:
            return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
        except ValueError as error:
            raise Damage(f"{name} has fewer than {size} bytes") from error


class Blob:
    """Rows of varying length by number: byte strings, or items of ``width`` bytes."""

    def __init__(self, folder: Path, name: str, sizes: Sizes, width: int = 1) -> None:
        self._data = _mapped(folder, f"{name}.data", sizes)
        self._offsets = array(folder, f"{name}.offsets", OFFSET, sizes)
        self._width = width

    def __getitem__(self, number: int) -> bytes:
        return self.rows(np.array([number]))[0]

    def bounds(self, numbers: NDArray[Any]) -> tuple[Integers, Integers]:
        """Return the starts and ends of rows, in items."""
        return self._offsets[numbers], self._offsets[numbers + 1]

    def rows(self, numbers: NDArray[Any]) -> list[bytes]:
        starts, ends = ((self._width * bounds).tolist() for bounds in self.bounds(numbers))
        return list(map(self._data.__getitem__, map(slice, starts, ends)))


class Appender:
    """A file that grows from the size that the manifest names; bytes beyond it were never committed."""

    def __init__(self, folder: Path, name: str, sizes: Sizes) -> None:
        self.name = name
        before = sizes.get(name, Extent(0, 0))
        self.size, self._crc = before.size, before.crc32
        if self.size == 0:
            # A new inode, because readers may still map an unused file of this name.
            (folder / name).unlink(missing_ok=True)
        self._file = (folder / name).open("r+b" if self.size else "w+b")
        self._file.truncate(self.size)
        self._file.seek(self.size)

    def append(self, data: bytes | memoryview) -> None:
        self._file.write(data)
        self.size += len(data) if isinstance(data, bytes) else data.nbytes
        self._crc = zlib.crc32(data, self._crc)

    def read(self, start: int, count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return ``count`` items from ``start``, committed or not."""
        self._file.seek(start * dtype.itemsize)
        data = self._file.read(count * dtype.itemsize)
        self._file.seek(self.size)
        return np.frombuffer(data, dtype)

    def sync(self) -> dict[str, Extent]:
        """Sync the file; return its name and extent."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return {self.name: Extent(self.size, self._crc)}

    def close(self) -> None:
        self._file.close()


class BlobAppender:
    """Writer of a :class:`Blob`. The caller syncs and closes ``files``."""

    def __init__(self, folder: Path, name: str, sizes: Sizes) -> None:
        self._data = Appender(folder, f"{name}.data", sizes)
        self._offsets = Appender(folder, f"{name}.offsets", sizes)
        self.files = (self._data, self._offsets)
        if self._offsets.size == 0:
            self._offsets.append(bytes(OFFSET.itemsize))

    def extend(self, items: Sequence[bytes]) -> None:
        ends = self._data.size + np.cumsum([len(item) for item in items], dtype=OFFSET)
        self._data.append(b"".join(items))
        self._offsets.append(ends.data)

    def __getitem__(self, number: int) -> bytes:
        first, last = self._offsets.read(number, 2, OFFSET).tolist()
        return self._data.read(first, last - first, np.dtype("u1")).tobytes()


def damage(path: Path, extent: Extent) -> str:
    """Describe the damage of a file; "" if it is intact.

    :raises PermissionError: if the file is not readable, which is not damage.
    """
    crc, left = 0, extent.size
    try:
        with path.open("rb") as file:
            while left and (piece := file.read(min(left, _PIECE))):
                crc, left = zlib.crc32(piece, crc), left - len(piece)
    except PermissionError:
        raise
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if left:
        return f"has {extent.size - left} of {extent.size} bytes"
    return "" if extent.crc32 == crc else "its checksum does not match"
