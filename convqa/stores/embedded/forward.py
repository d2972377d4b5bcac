"""The forward file: for each passage its distinct terms with their counts, one file set for each field."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.stores.embedded.files import OFFSET, Appender, Blob, array

TERM = np.dtype("<u4")
COUNT = np.dtype("<u2")
"""Counts stop at 65,535."""


class Forward:
    """The reading side of one field."""

    def __init__(self, folder: Path, name: str, sizes: dict[str, int]) -> None:
        self._terms = Blob(folder, name, sizes, TERM.itemsize)
        self._counts = array(folder / f"{name}.counts", COUNT, sizes[f"{name}.counts"])

    def frequencies(self, numbers: NDArray[Any], slots: NDArray[Any], width: int) -> NDArray[np.float64]:
        """How often the terms of a query occur in passages.

        :param numbers: of C passages. :param slots: for each term of the vocabulary 0, or its place in the query
            counted from 1. :param width: terms in the query.
        :return: shape (width, C).
        """
        found = np.zeros((width + 1, len(numbers)))
        # One copy of all rows, then one look-up: a loop over passages would take five times as long.
        wanted = slots.take(np.frombuffer(b"".join(self._terms.rows(numbers)), TERM))
        hits = np.flatnonzero(wanted.astype(bool))
        starts, ends = self._terms.bounds(numbers)
        ends_joined = np.cumsum(ends - starts)
        rows = np.searchsorted(ends_joined, hits, side="right")
        found[wanted[hits], rows] = self._counts[hits + (ends - ends_joined)[rows]]
        return found[1:]


class ForwardAppender:
    """The writing side of one field."""

    def __init__(self, folder: Path, name: str, sizes: dict[str, int]) -> None:
        self._name = name
        self._terms = Appender(folder / f"{name}.data", sizes.get(f"{name}.data", 0))
        self._counts = Appender(folder / f"{name}.counts", sizes.get(f"{name}.counts", 0))
        self._offsets = Appender(folder / f"{name}.offsets", sizes.get(f"{name}.offsets", 0))
        if self._offsets.size == 0:
            self._offsets.append(bytes(OFFSET.itemsize))

    def extend(self, rows: Sequence[Sequence[int]]) -> NDArray[np.uint64]:
        """Append one row of terms (with repeats) for each passage.

        :return: the distinct (row << 32 | term), sorted.
        """
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        terms = np.fromiter((term for row in rows for term in row), np.uint64, int(lengths.sum()))
        keys = np.repeat(np.arange(len(rows), dtype=np.uint64) << np.uint64(32), lengths) | terms
        distinct: NDArray[np.uint64]
        distinct, counts = np.unique(keys, return_counts=True)
        sizes = np.bincount((distinct >> np.uint64(32)).astype(np.int64), minlength=len(rows))
        self._offsets.append((self._terms.size // TERM.itemsize + np.cumsum(sizes)).astype(OFFSET).data)
        self._terms.append((distinct & np.uint64(0xFFFFFFFF)).astype(TERM).data)
        self._counts.append(np.minimum(counts, np.iinfo(COUNT).max).astype(COUNT).data)
        return distinct

    def terms(self, number: int) -> NDArray[Any]:
        """The distinct terms of a passage, sorted."""
        start = number * OFFSET.itemsize
        first, last = np.frombuffer(self._offsets.read(start, start + 2 * OFFSET.itemsize), OFFSET).tolist()
        return np.frombuffer(self._terms.read(first * TERM.itemsize, last * TERM.itemsize), TERM)

    def sync(self) -> dict[str, int]:
        """Make everything last; returns the files with their sizes."""
        sizes = {}
        for kind, file in (("data", self._terms), ("counts", self._counts), ("offsets", self._offsets)):
            file.sync()
            sizes[f"{self._name}.{kind}"] = file.size
        return sizes

    def close(self) -> None:
        for file in (self._terms, self._counts, self._offsets):
            file.close()
