"""Exact search: every vector is compared, 64 queries with a block of rows at a time, so that memory stays flat.

A product of matrices is fast, and its last bits depend on the shapes: they decide only which rows are looked at again.
The bound is that of any order of summation: |computed - exact| <= n u |q| |x|, with n additions and u = 2^-24.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.stores.base import Floats, Integers

QUERIES = 64
_NUMBERS = 1 << 22
"""Components of a block of rows: 16 MiB, which the next block finds allocated already."""
_SAMPLE = 4096
"""Rows of the first block whose k-th best is a first bound."""
_UNIT = 2.0**-24
_ROUNDINGS = 8
"""Beyond the additions: of the query, of scaling and of the score."""


@dataclass(frozen=True, slots=True)
class Block:
    """Rows of a matrix: ``values`` (rows, dimension), what their products are multiplied by (None: 1), the length of
    the longest, and which are dead."""

    values: Floats
    scales: NDArray[Any] | None
    longest: float
    dead: Integers


def candidates(queries: Floats, count: int, block_of: Callable[[int, int], Block], k: int) -> list[Integers]:
    """For each query the rows that may be among its best ``k``, or tie with the k-th: those, and a few more.

    :param count: of rows; ``block_of(start, end)`` gives the rows ``[start, end)``.
    """
    pool = _Pool(queries, k)
    size = max(1, _NUMBERS // queries.shape[1])
    for start in range(0, count, size):
        block = block_of(start, min(start + size, count))
        products = block.values @ queries.T
        if block.scales is not None:
            products *= block.scales[:, None]
        products[block.dead] = -np.inf
        pool.offer(start, products, block.longest)
    return pool.best()


class _Pool:
    """Candidates for the best: queries, rows, computed products and their greatest error."""

    def __init__(self, queries: Floats, k: int) -> None:
        self._k = k
        self._count = len(queries)
        additions = queries.shape[1] + _ROUNDINGS
        self._error = additions * _UNIT * np.sqrt(np.einsum("qd,qd->q", queries, queries, dtype=np.float64))
        self._floor = np.full(self._count, -np.inf)
        """The k-th best exact product is at least this."""
        self._parts: list[tuple[NDArray[Any], ...]] = []
        self._size = 0
        self._kept = 0

    def offer(self, start: int, products: Floats, longest: float) -> None:
        """Take from a block what may be among the best. ``products``: shape (rows, queries)."""
        errors = self._error * longest
        if not self._parts and len(products) > self._k:
            sample = products[: max(_SAMPLE, 4 * self._k)]
            self._floor = np.partition(sample, -self._k, axis=0)[-self._k] - errors
        # Rounded down, so that the comparison in 32 bits loses nothing.
        needed = np.nextafter((self._floor - errors).astype(np.float32), np.float32(-np.inf))
        places = np.flatnonzero((products >= needed) & (products > -np.inf))
        rows, queries = np.divmod(places, self._count)
        self._parts.append((queries, rows + start, products.ravel()[places], errors[queries]))
        self._size += len(places)
        if self._size > 2 * self._kept + 4 * self._k * self._count:
            self._shrink()

    def _shrink(self) -> None:
        columns = [np.concatenate(column) for column in zip(*self._parts, strict=True)]
        # By query; the rows of each in rising order.
        order = np.argsort(columns[0], kind="stable")
        queries, rows, products, errors = (column[order] for column in columns)
        ends = np.searchsorted(queries, np.arange(self._count + 1))
        kept = np.ones(len(queries), bool)
        for query, (first, last) in enumerate(pairwise(ends)):
            if last - first > self._k:
                lower = products[first:last] - errors[first:last]
                self._floor[query] = max(self._floor[query], np.partition(lower, -self._k)[-self._k])
                kept[first:last] = products[first:last] + errors[first:last] >= self._floor[query]
        self._parts = [(queries[kept], rows[kept], products[kept], errors[kept])]
        self._size = self._kept = len(self._parts[0][0])

    def best(self) -> list[Integers]:
        if not self._parts:
            return [np.empty(0, np.int64)] * self._count
        self._shrink()
        queries, rows, _, _ = self._parts[0]
        ends = np.searchsorted(queries, np.arange(self._count + 1))
        return [rows[first:last] for first, last in pairwise(ends)]
