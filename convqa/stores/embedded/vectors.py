"""Vectors of passages: a memory-mapped matrix, and a file that names the passage of each row.

Both files only grow. A row is dead if a later one has a vector of the same passage, or if the passage is deleted.

``int8`` stores round(x / scale), with the scale of a row its largest component / 127. Row scales do not depend on other
rows, and their recall equals that of a scale per dimension. Every vector is compared: at 500,000 vectors numpy ranks
134 queries a second, and a graph takes longer to build than 16,000 turns take (docs/benchmarks/vectors.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from convqa.errors import InputError
from convqa.stores.base import Floats, Integers
from convqa.stores.embedded.files import NUMBER, Array, ArrayWriter, Extents, Mask, array
from convqa.stores.embedded.manifest import VectorState

PRECISIONS: dict[str, np.dtype[Any]] = {
    "float32": np.dtype("<f4"),
    "float16": np.dtype("<f2"),
    "int8": np.dtype("i1"),
}
ROW = np.dtype([("number", NUMBER), ("norm", "<f4"), ("scale", "<f4")])
"""The passage of a row, the Euclidean length of the stored vector, and the factor of its components."""

PREFIX = "vectors."
MATRIX, ROWS = f"{PREFIX}matrix", f"{PREFIX}rows"
_MAX_INT8 = 127
_ROWS_PER_BLOCK = 8192
_QUERIES_PER_PASS = 64
_COMPONENTS_PER_BLOCK = 1 << 22
"""16 MiB of 32-bit floats, whose memory the next block reuses."""
_UNIT = 2.0**-24
_ROUNDINGS = 10
"""Roundings in addition to the sums: of the query, of scaling, of the score and of the bound."""


def rows_by_passage(numbers: Array, deleted: Mask) -> Integers:
    """Return the last row of each passage by number; -1 if it has none or is deleted.

    :param numbers: the passage of each row.
    :param deleted: whether a passage is deleted, by number.
    """
    rows = np.full(len(deleted), -1)
    rows[numbers] = np.arange(len(numbers))
    rows[deleted] = -1
    return rows


class Vectors:
    """Reader of one state. Immutable and thread-safe."""

    def __init__(
        self,
        data: Path,
        state: VectorState,
        extents: Extents,
        deleted: Mask,
    ) -> None:
        self._rows = array(data, ROWS, ROW, extents)
        self._deleted = deleted
        self._open(data, state, extents)

    def _open(
        self,
        data: Path,
        state: VectorState,
        extents: Extents,
    ) -> None:
        matrix = array(data, MATRIX, PRECISIONS[state.options.precision], extents)
        self._matrix = matrix.reshape(-1, state.encoder.dimension)

    @cached_property
    def row_of(self) -> Integers:
        """The row of each passage by number, -1 without one."""
        return rows_by_passage(self._rows["number"], self._deleted)

    def rows_of(self, passages: Mask) -> Integers:
        """Return the rows of the passages whose number is marked True, ascending."""
        rows = self.row_of[passages]
        return np.sort(rows[rows >= 0])

    def of(self, numbers: Sequence[int | None]) -> list[Floats | None]:
        """Return the vectors of passages by number, in stored precision; None if missing."""
        rows = np.full(len(numbers), -1)
        for index, number in enumerate(numbers):
            if number is not None:
                rows[index] = self.row_of[number]
        vectors = self._values(rows) * self._rows["scale"][rows, None]
        return [vector if row >= 0 else None for row, vector in zip(rows, vectors, strict=True)]

    def _values(self, rows: Integers) -> Floats:
        return self._matrix[rows].astype(np.float32)

    def best(
        self,
        queries: Floats,
        k: int,
        among: Integers,
    ) -> Iterator[tuple[Integers, Floats]]:
        """Yield for each query the numbers and scores of passages that include its best ``k`` and ties with the k-th.

        A score is the inner product in 64 bits, rounded to 32, so that it does not depend on the batch.

        :param among: the rows to consider, ascending.
        """
        longest = self._rows["norm"][among].max(initial=0)
        for start in range(0, len(queries), _QUERIES_PER_PASS):
            some = queries[start : start + _QUERIES_PER_PASS]
            indexes = candidates(self._products(some, among), margins(some, longest), k)
            for query, chosen in zip(some, indexes, strict=True):
                rows = among[chosen]
                yield self._rows["number"][rows].astype(np.int64), self._scores(query, rows)

    def _products(self, queries: Floats, among: Integers) -> Iterator[Floats]:
        """Iterate over blocks of rows, so that memory stays flat: their products with the queries."""
        size = max(1, _COMPONENTS_PER_BLOCK // queries.shape[1])
        for start in range(0, len(among), size):
            # A slice of the memory map needs no copy.
            block = slice(start, start + size)
            rows = block if len(among) == len(self._rows) else among[block]
            products = queries @ self._matrix[rows].astype(np.float32, copy=False).T
            if self._matrix.dtype == np.int8:
                products *= self._rows["scale"][rows]
            yield products

    def _scores(self, query: Floats, rows: Integers) -> Floats:
        wide = query.astype(np.float64)
        scores = np.empty(len(rows), np.float32)
        for start in range(0, len(rows), _ROWS_PER_BLOCK):
            block = slice(start, start + _ROWS_PER_BLOCK)
            vectors = self._matrix[rows[block]].astype(np.float64)
            # Not a matrix product, because BLAS sums in an order that depends on a row's index.
            products = np.einsum("rd,d->r", vectors, wide)
            scores[block] = products * self._rows["scale"][rows[block]]
        return scores


def margins(queries: Floats, longest: float) -> Floats:
    """Return by how much the difference of two products may be wrong, for each query.

    The bound holds for any order of summation: |computed - exact| <= n u |q| |x|, with n additions and u = 2^-24.

    :param longest: the length of the longest row.
    """
    lengths = np.linalg.norm(queries.astype(np.float64), axis=1)
    errors = (queries.shape[1] + _ROUNDINGS) * _UNIT * lengths * longest
    return np.asarray(2 * errors, np.float32)


def candidates(products: Iterable[Floats], margins: Floats, k: int) -> list[Integers]:
    """Return for each query the indexes of a few rows that include its best ``k`` and all that tie with the k-th.

    Matrix products are fast, but their last bits depend on the shapes, so here they only select candidates.

    :param products: of all queries with blocks of rows, of shape (queries, rows).
    """
    floors = np.full(len(margins), -np.inf, np.float32)
    values = [np.empty(0, np.float32) for _ in margins]
    rows = [np.empty(0, np.int64) for _ in margins]
    start = 0
    for block in products:
        for query, row in enumerate(block):
            new = np.flatnonzero(row >= floors[query])
            if len(new) == 0:
                continue
            values[query] = np.append(values[query], row[new])
            rows[query] = np.append(rows[query], new + start)
            if len(rows[query]) > k:
                floors[query] = np.partition(values[query], -k)[-k] - margins[query]
                kept = values[query] >= floors[query]
                values[query], rows[query] = values[query][kept], rows[query][kept]
        start += block.shape[1]
    return rows


class VectorWriter:
    """Appends rows after the committed ones."""

    def __init__(self, arrays: ArrayWriter, state: VectorState) -> None:
        self._arrays = arrays
        self._state = state

    def add(self, numbers: Array, values: Floats) -> None:
        """Append the vectors of passages, by number.

        :raises InputError: for a component that is too large for the precision.
        """
        rows = np.empty(len(numbers), ROW)
        rows["number"] = numbers
        rows["norm"], rows["scale"] = self._append(values)
        self._arrays.append(ROWS, rows)

    def _append(self, values: Floats) -> tuple[Array, Array]:
        """Write vectors; return the norm and the scale of each."""
        precision = self._state.options.precision
        scales = np.ones(len(values), np.float32)
        if precision == "int8":
            scales = (np.abs(values).max(axis=1, initial=0) / _MAX_INT8).astype(np.float32)
            scales[scales == 0] = 1.0
            values = np.round(values / scales[:, None].astype(np.float64)).clip(-_MAX_INT8, _MAX_INT8)
        elif np.abs(values).max(initial=0) > np.finfo(PRECISIONS[precision]).max:
            raise InputError(f"a component of a vector is too large for {precision}; use float32 or int8.")
        stored = values.astype(PRECISIONS[precision])
        self._arrays.append(MATRIX, stored)
        return np.linalg.norm(stored.astype(np.float64), axis=1) * scales, scales

    def commit(self, generation: int, live: Integers) -> None:
        """Write what waits for the commit. :param live: the rows that are not dead."""
