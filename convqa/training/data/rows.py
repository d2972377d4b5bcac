"""Training examples on disk: sequences of tokens of any number, read back one by one, so that memory stays flat."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from convqa.errors import StorageFull


class Row(NamedTuple):
    """``ids``, and the token types of all but a beginning of zeros: ``typed`` is the place of the first one.

    ``spans``: first and last token of every right answer; (0, 0), the first token twice, says that there is none.
    """

    ids: Sequence[int]
    typed: int
    spans: Sequence[tuple[int, int]]


class Rows:
    """Append rows, then read them in any order: the first that is read ends the writing. The file is made anew."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("wb")
        self._at, self._lengths, self._typed, self._spans = array("q"), array("i"), array("i"), array("i")
        self._end = 0
        self._all: NDArray[np.int32] | None = None

    def add(self, row: Row) -> None:
        """:raises StorageFull: if the disk takes no more."""
        flat = np.array([*row.ids, *(place for span in row.spans for place in span)], dtype=np.int32)
        try:
            self._file.write(flat.tobytes())
        except OSError as error:
            raise StorageFull(f"{self._path}: cannot be written ({error.strerror or error}).") from error
        self._at.append(self._end)
        self._lengths.append(len(row.ids))
        self._typed.append(row.typed)
        self._spans.append(len(row.spans))
        self._end += len(flat)

    @property
    def lengths(self) -> array[int]:
        """Tokens of each row."""
        return self._lengths

    def __len__(self) -> int:
        return len(self._lengths)

    def __getitem__(self, place: int) -> Row:
        if self._all is None:
            self._file.close()
            self._all = np.memmap(self._path, dtype=np.int32, mode="r")
        start, length, number = self._at[place], self._lengths[place], self._spans[place]
        flat = self._all[start : start + length + 2 * number].tolist()
        spans = flat[length:]
        return Row(flat[:length], self._typed[place], list(zip(spans[::2], spans[1::2], strict=True)))
