"""Vectors of passages: a memory-mapped matrix, and a file that names the passage of each row.

Both files only grow. A row is dead if a later one has a vector of the same passage, or if the passage is deleted. Every
vector is compared: at 500,000 vectors numpy ranks 134 queries a second, and a graph takes longer to build than 16,000
turns take (docs/benchmarks/vectors.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from convqa.stores.base import Floats, Integers
from convqa.stores.embedded.files import NUMBER, Array, ArrayWriter, Mask, Sizes, array

COMPONENT = np.dtype("<f4")
ROW = np.dtype([("number", NUMBER), ("norm", COMPONENT)])
"""The passage of a row, and the Euclidean length of its vector."""

PREFIX = "vectors."
MATRIX, ROWS = f"{PREFIX}matrix", f"{PREFIX}rows"

_PRODUCTS_IN_MEMORY = 1 << 24
_UNIT = 2.0**-24
_ROUNDINGS = 10
"""Roundings in addition to the sums: of the query, of the score and of the bound."""


def append_vectors(
    arrays: ArrayWriter,
    numbers: Array,
    values: Floats,
) -> None:
    """Append the vectors of passages, by number."""
    rows = np.empty(len(numbers), ROW)
    rows["number"] = numbers
    rows["norm"] = np.linalg.norm(values.astype(np.float64), axis=1)
    arrays.append(MATRIX, values.astype(COMPONENT))
    arrays.append(ROWS, rows)


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
        dimension: int,
        sizes: Sizes,
        deleted: Mask,
    ) -> None:
        self._matrix = array(data, MATRIX, COMPONENT, sizes).reshape(-1, dimension)
        self._rows = array(data, ROWS, ROW, sizes)
        self._deleted = deleted

    @cached_property
    def row_of(self) -> Integers:
        """The row of each passage by number, -1 without one."""
        return rows_by_passage(self._rows["number"], self._deleted)

    def rows_of(self, passages: Mask) -> Integers:
        """Return the rows of the passages whose number is marked True, ascending."""
        rows = self.row_of[passages]
        return np.sort(rows[rows >= 0])

    def of(self, numbers: Sequence[int | None]) -> list[Floats | None]:
        """Return the vectors of passages by number; None if missing."""
        rows = [-1 if number is None else int(self.row_of[number]) for number in numbers]
        return [None if row < 0 else np.array(self._matrix[row]) for row in rows]

    def best(
        self,
        queries: Floats,
        k: int,
        among: Integers,
    ) -> Iterator[tuple[Integers, Floats]]:
        """Yield for each query the numbers and scores of passages that include its best ``k`` and ties with the k-th.

        Matrix products are fast, but their last bits depend on the shapes, so they only select candidates. A score is
        the inner product in 64 bits, rounded to 32, which does not depend on the batch.

        :param among: the rows to consider, ascending.
        """
        longest = self._rows["norm"][among].max(initial=0)
        size = max(1, _PRODUCTS_IN_MEMORY // max(1, len(self._matrix)))
        for start in range(0, len(queries), size):
            some = queries[start : start + size]
            # Of all rows, because a choice of them would be copied first.
            products = (some @ self._matrix.T)[:, among]
            lowest = floors(products, margins(some, longest), k)
            for query, floor, row in zip(some, lowest, products, strict=True):
                rows = among[row >= floor]
                yield self._rows["number"][rows].astype(np.int64), self._scores(query, rows)

    def _scores(self, query: Floats, rows: Integers) -> Floats:
        # Not a matrix product, because BLAS sums in an order that depends on a row's index.
        vectors = self._matrix[rows].astype(np.float64)
        products = np.einsum("rd,d->r", vectors, query.astype(np.float64))
        scores: Floats = products.astype(np.float32)
        return scores


def margins(queries: Floats, longest: float) -> Floats:
    """Return by how much the difference of two products may be wrong, for each query.

    The bound holds for any order of summation: |computed - exact| <= n u |q| |x|, with n additions and u = 2^-24.

    :param longest: the length of the longest row.
    """
    lengths = np.linalg.norm(queries.astype(np.float64), axis=1)
    errors = (queries.shape[1] + _ROUNDINGS) * _UNIT * lengths * longest
    return np.asarray(2 * errors, np.float32)


def floors(products: Floats, margins: Floats, k: int) -> Floats:
    """Return for each query a lower bound of the computed products of its best ``k`` rows and of ties with the k-th.

    :param products: of shape (queries, rows).
    """
    if products.shape[1] <= k:
        return np.full(len(products), -np.inf, np.float32)
    if k < 1:
        return np.full(len(products), np.inf, np.float32)
    kth = np.partition(products, -k, axis=1)[:, -k]
    return np.asarray(kth - margins, np.float32)
