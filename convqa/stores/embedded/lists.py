"""Inverted lists: for each key, such as a term, the items of the rows that have it, ascending by row.

The lists of all keys are one memory-mapped array; another has the start of each list. A commit merges the lists with
what was added into new files, so readers of earlier states keep theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from convqa.stores.base import Doubles, Integers
from convqa.stores.embedded.files import NUMBER, OFFSET, Array, ArrayWriter, Extents, Mask, array

_ITEMS_PER_RUN = 1 << 22
"""Items in memory at a time, about 12 bytes each, while lists are written."""


class Lists:
    """Reader of the lists whose files begin with ``prefix``. An item is a record with a ``row``."""

    def __init__(
        self,
        data: Path,
        prefix: str,
        dtype: np.dtype[np.void],
        extents: Extents,
    ) -> None:
        names = {name.rpartition(".")[0]: name for name in extents}
        self._items = array(data, names.get(f"{prefix}items", ""), dtype, extents)
        self._starts = array(data, names.get(f"{prefix}starts", ""), OFFSET, extents)
        if len(self._starts) > 0 and self._starts[-1] != len(self._items):
            raise ValueError("the last list does not end at the end of the items")

    def __getitem__(self, key: int) -> Array:
        return self._items[self._starts[key] : self._starts[key + 1]]

    def sums(
        self,
        keys: Sequence[int],
        value: Callable[[int, Array, Integers], Doubles],
        rows: int,
    ) -> Doubles:
        """Return for each of ``rows`` rows the sum of its values in the lists of some keys, added in their order.

        :param value: returns the value of each item of a key's list, given the items and their rows.
        """
        lists = [self[key] for key in keys]
        row_of = np.empty(sum(map(len, lists)), np.int64)
        values = np.empty(len(row_of))
        end = 0
        for key, items in zip(keys, lists, strict=True):
            start, end = end, end + len(items)
            row_of[start:end] = items["row"]
            values[start:end] = value(key, items, row_of[start:end])
        if row_of.max(initial=0) >= max(1, rows):
            raise ValueError("a list has a row that does not exist")
        return np.bincount(row_of, values, rows).astype(np.float64, copy=False)

    def keyed(self, first: int, last: int) -> tuple[Integers, Array]:
        """Return the items of a range of keys, and the key of each."""
        starts = self._starts[first : last + 1]
        if len(starts) < 2:
            return np.empty(0, np.int64), self._items[:0]
        keys = np.repeat(np.arange(first, first + len(starts) - 1), np.diff(starts))
        return keys, self._items[starts[0] : starts[-1]]

    def sizes(self, keys: int) -> Integers:
        """Return the length of each of the first ``keys`` lists."""
        sizes = np.diff(self._starts)
        return np.append(sizes, np.zeros(keys - len(sizes), np.int64))


class ListWriter:
    """Adds items to lists. They wait in memory, and beyond that in sorted runs in a file."""

    def __init__(
        self,
        arrays: ArrayWriter,
        prefix: str,
        dtype: np.dtype[np.void],
    ) -> None:
        self._arrays = arrays
        self._prefix = prefix
        self._dtype = dtype
        self._waiting: list[tuple[Array, Array]] = []
        self._count = 0
        self._run_ends = [0]

    def add(self, keys: Array, items: Array) -> None:
        """Add an item for each key. Rows of later calls are larger."""
        self._waiting.append((keys.astype(NUMBER), items))
        self._count += len(keys)
        if self._count - self._run_ends[-1] >= _ITEMS_PER_RUN:
            self._write_run()

    def _write_run(self) -> None:
        if not self._waiting:
            return
        keys, items = map(np.concatenate, zip(*self._waiting, strict=True))
        order = np.argsort(keys, kind="stable")
        self._arrays.append(f"{self._prefix}run-keys", keys[order])
        self._arrays.append(f"{self._prefix}run-items", items[order])
        self._run_ends.append(self._count)
        self._waiting = []

    def commit(
        self,
        generation: int,
        keys: int,
        live: Mask,
    ) -> None:
        """Merge what was added with the lists, which get the generation as the end of their files' names.

        :param keys: the number of keys.
        :param live: whether to keep the items of a row.
        """
        self._write_run()
        self._arrays.sync()
        data, extents = self._arrays.data, self._arrays.extents
        lists = Lists(data, self._prefix, self._dtype, extents)
        run_keys = array(data, f"{self._prefix}run-keys", NUMBER, extents)
        run_items = array(data, f"{self._prefix}run-items", self._dtype, extents)
        runs = [slice(start, end) for start, end in pairwise(self._run_ends)]
        sizes = lists.sizes(keys)
        for run in runs:
            sizes += np.bincount(run_keys[run], minlength=keys)
        self._arrays.drop(self._prefix)
        kept_sizes = [np.zeros(1, np.int64)]
        for first, last in pairwise(_bounds(sizes).tolist()):
            parts = [lists.keyed(first, last)]
            for run in runs:
                start, end = run.start + np.searchsorted(run_keys[run], (first, last))
                parts.append((run_keys[start:end], run_items[start:end]))
            key_of, items = map(np.concatenate, zip(*parts, strict=True))
            kept = live[items["row"]]
            key_of, items = key_of[kept], items[kept]
            self._arrays.append(f"{self._prefix}items.{generation}", items[np.argsort(key_of, kind="stable")])
            kept_sizes.append(np.bincount(key_of - first, minlength=last - first))
        self._arrays.append(f"{self._prefix}starts.{generation}", np.cumsum(np.concatenate(kept_sizes)))


def _bounds(sizes: Integers) -> Integers:
    """Return the bounds of ranges of keys, whose lists have about ``_ITEMS_PER_RUN`` items together."""
    ends = np.cumsum(sizes)
    inner = np.searchsorted(ends, np.arange(_ITEMS_PER_RUN, sizes.sum(), _ITEMS_PER_RUN)) + 1
    return np.unique([0, *inner, len(sizes)])
