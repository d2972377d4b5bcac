"""Token sequences of training examples on disk, read back one by one to keep memory flat."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from convqa.errors import StorageFull


class Row(NamedTuple):
    """``ids``: tokens. ``typed``: index of the first token of type 1. ``spans``: first and last token of every right
    answer, (0, 0) if there is none.
    """

    ids: Sequence[int]
    typed: int
    spans: Sequence[tuple[int, int]]


class Rows:
    """Append rows to a new file, then read them in any order. The first read ends the writing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("wb")
        self.lengths: array[int] = array("i")
        """Tokens of each row."""
        self._starts = array("q")
        self._end = 0
        self._data: NDArray[np.int32] | None = None

    def add(self, row: Row) -> None:
        """Append a row.

        :raises StorageFull: if the file cannot be written.
        """
        ends = [index for span in row.spans for index in span]
        flat = np.array([row.typed, len(ends), *ends, *row.ids], dtype=np.int32)
        try:
            self._file.write(flat.tobytes())
        except OSError as error:
            raise StorageFull(f"{self._path}: cannot be written ({error.strerror or error}).") from error
        self._starts.append(self._end)
        self.lengths.append(len(row.ids))
        self._end += len(flat)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> Row:
        if self._data is None:
            self._file.close()
            self._data = np.memmap(self._path, dtype=np.int32, mode="r")
        start = self._starts[index]
        typed, count = self._data[start : start + 2].tolist()
        flat = self._data[start + 2 : start + 2 + count + self.lengths[index]].tolist()
        return Row(flat[count:], typed, list(zip(flat[:count:2], flat[1:count:2], strict=True)))
