"""The files of a collection: arrays and blobs, read by memory map and written at the end only."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.files import unwritable

OFFSET = np.dtype("<i8")


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Say which collection could not be written when the system refuses to write.

    :raises InputError: if this is no place to write to.
    :raises StorageFull: for no space.
    """
    try:
        yield
    except OSError as error:
        raise unwritable(f"collection {folder}", error) from error


def array(path: Path, dtype: np.dtype[Any] | str, size: int) -> NDArray[Any]:
    """The first ``size`` bytes of a file as a read-only array that the system pages in as it is used."""
    if size == 0:
        return np.empty(0, dtype)
    return np.frombuffer(_map(path, size), dtype)


def write_array(path: Path, values: NDArray[Any]) -> int:
    """Write an array as a file of its own, made to last; returns the bytes."""
    with path.open("wb") as file:
        file.write(np.ascontiguousarray(values).data)
        file.flush()
        os.fsync(file.fileno())
        return file.tell()


def _map(path: Path, size: int) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)


class Blob:
    """Rows of any length, by number: byte strings, or items of ``width`` bytes."""

    def __init__(self, folder: Path, name: str, sizes: dict[str, int], width: int = 1) -> None:
        size = sizes[f"{name}.data"]
        self._data: mmap.mmap | bytes = _map(folder / f"{name}.data", size) if size else b""
        self._offsets = array(folder / f"{name}.offsets", OFFSET, sizes[f"{name}.offsets"])
        self._width = width

    def __getitem__(self, number: int) -> bytes:
        return self.rows(np.array([number]))[0]

    def bounds(self, numbers: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where rows start and end, in items."""
        return self._offsets[numbers], self._offsets[numbers + 1]

    def rows(self, numbers: NDArray[Any]) -> list[bytes]:
        data = self._data
        starts, ends = (
            (self._width * self._offsets[numbers]).tolist(),
            (self._width * self._offsets[numbers + 1]).tolist(),
        )
        return [data[start:end] for start, end in zip(starts, ends, strict=True)]


class Appender:
    """A file that grows at its end, from the size that the manifest says: what is beyond was never committed."""

    def __init__(self, path: Path, size: int) -> None:
        self._file = path.open("r+b" if path.exists() else "w+b")
        self._file.truncate(size)
        self._file.seek(size)
        self.size = size

    def append(self, data: bytes | memoryview) -> None:
        self._file.write(data)
        self.size += len(data) if isinstance(data, bytes) else data.nbytes

    def read(self, start: int, end: int) -> bytes:
        """Bytes ``[start, end)``, committed or not."""
        self._file.seek(start)
        data = self._file.read(end - start)
        self._file.seek(self.size)
        return data

    def sync(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


class BlobAppender:
    """The writing side of a :class:`Blob`."""

    def __init__(self, folder: Path, name: str, sizes: dict[str, int]) -> None:
        self._data = Appender(folder / f"{name}.data", sizes.get(f"{name}.data", 0))
        self._offsets = Appender(folder / f"{name}.offsets", sizes.get(f"{name}.offsets", 0))
        self._name = name
        if self._offsets.size == 0:
            self._offsets.append(bytes(OFFSET.itemsize))

    def extend(self, items: Sequence[bytes]) -> None:
        ends = self._data.size + np.cumsum([len(item) for item in items], dtype=OFFSET)
        self._data.append(b"".join(items))
        self._offsets.append(ends.data)

    def __getitem__(self, number: int) -> bytes:
        start = number * OFFSET.itemsize
        first, last = np.frombuffer(self._offsets.read(start, start + 2 * OFFSET.itemsize), OFFSET).tolist()
        return self._data.read(first, last)

    def sync(self) -> dict[str, int]:
        """Make everything last; returns the files with their sizes."""
        self._data.sync()
        self._offsets.sync()
        return {f"{self._name}.data": self._data.size, f"{self._name}.offsets": self._offsets.size}

    def close(self) -> None:
        self._data.close()
        self._offsets.close()
