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
        self._at, self._lengths = array("q"), array("i")
        self._end = 0
        self._all: NDArray[np.int32] | None = None

    def add(self, row: Row) -> None:
        """Append a row: raises StorageFull if the disk takes no more."""
        places = [place for span in row.spans for place in span]
        flat = np.array([row.typed, len(places), *places, *row.ids], dtype=np.int32)
        try:
            self._file.write(flat.tobytes())
        except OSError as error:
            raise StorageFull(f"{self._path}: cannot be written ({error.strerror or error}).") from error
        self._at.append(self._end)
        self._lengths.append(len(row.ids))
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
        start = self._at[place]
        typed, spans = self._all[start : start + 2].tolist()
        flat = self._all[start + 2 : start + 2 + spans + self._lengths[place]].tolist()
        return Row(flat[spans:], typed, list(zip(flat[:spans:2], flat[1:spans:2], strict=True)))
