"""Exact vector search over blocks of rows, so that memory stays flat.

Matrix products are fast, but their last bits depend on the shapes. Here they only select candidates, by a bound that
holds for any order of summation: |computed - exact| <= n u |q| |x|, with n additions and u = 2^-24.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from convqa.stores.base import Floats, Integers

QUERIES = 64
"""Queries per pass over the rows."""
_NUMBERS = 1 << 22
"""Components per block: 16 MiB, whose memory the next block reuses."""
_UNIT = 2.0**-24
_ROUNDINGS = 8
"""Roundings in addition to the sums: of the query, of scaling and of the score."""


def candidates(
    queries: Floats, count: int, products_of: Callable[[int, int], tuple[Floats, float]], k: int
) -> list[Integers]:
    """Return for each query the indexes of a few rows that include its best ``k`` and all that tie with the k-th.

    :param count: the number of rows.
    :param products_of: returns the products of all queries with the rows ``[start, end)``, of shape (queries, rows),
        and the length of the longest of these rows.
    """
    lengths = np.sqrt(np.einsum("qd,qd->q", queries, queries, dtype=np.float64))
    errors = (queries.shape[1] + _ROUNDINGS) * _UNIT * lengths
    pools = [_Pool(k) for _ in queries]
    size = max(1, _NUMBERS // queries.shape[1])
    for start in range(0, count, size):
        products, longest = products_of(start, min(start + size, count))
        for pool, row, error in zip(pools, products, errors * longest, strict=True):
            pool.add(start, row, error)
    return [pool.rows for pool in pools]


class _Pool:
    """Candidates of one query: rows, and the upper and lower bounds of their products."""

    def __init__(self, k: int) -> None:
        self._k = k
        self._floor = -np.inf
        """A lower bound of the k-th best product."""
        self._upper = self._lower = np.empty(0)
        self.rows: Integers = np.empty(0, np.int64)

    def add(self, start: int, products: Floats, error: float) -> None:
        """Add the candidates of a block that begins at the row ``start``."""
        if self._floor == -np.inf and len(products) > self._k:
            self._floor = float(np.partition(products, -self._k)[-self._k]) - error
        # Rounded down, so that a comparison in 32 bits is safe.
        needed = np.nextafter(np.float32(self._floor - error), np.float32(-np.inf))
        new = np.flatnonzero(products >= needed)
        if not len(new):
            return
        self._upper = np.append(self._upper, products[new] + error)
        self._lower = np.append(self._lower, products[new] - error)
        self.rows = np.append(self.rows, new + start)
        if len(self.rows) > self._k:
            self._floor = max(self._floor, float(np.partition(self._lower, -self._k)[-self._k]))
            kept = self._upper >= self._floor
            self._upper, self._lower, self.rows = self._upper[kept], self._lower[kept], self.rows[kept]
