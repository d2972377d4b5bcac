"""Vectors of passages: a memory-mapped matrix, and a file that names the passage of each row.

``vectors.matrix`` and ``vectors.rows`` are append-only. ``vectors.dead.G`` lists the dead rows of generation G: those
of deleted passages, and those that a later vector replaced.

``int8`` stores round(x / scale), with the scale of a row its largest component / 127. Row scales do not depend on other
rows, and their recall equals that of a scale per dimension. Every vector is compared: at 500,000 vectors numpy ranks
134 queries a second, and a graph takes longer to build than 16,000 turns take (docs/benchmarks/vectors.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.errors import InputError
from convqa.stores.base import Encoder, Floats, Integers, VectorOptions
from convqa.stores.checks import checked_vectors, vectors_kept
from convqa.stores.embedded.files import Appender, array, write_array
from convqa.stores.embedded.lookup import NUMBER
from convqa.stores.embedded.manifest import Manifest, VectorState

PRECISIONS: dict[str, np.dtype[Any]] = {"float32": np.dtype("<f4"), "float16": np.dtype("<f2"), "int8": np.dtype("i1")}
ROW = np.dtype([("number", NUMBER), ("norm", "<f4"), ("scale", "<f4")])
"""The passage of a row, the Euclidean length of the stored vector, and the factor of its components."""

MATRIX, ROWS = "vectors.matrix", "vectors.rows"
_BLOCK = 8192
_LARGEST_INT8 = 127
_CACHED = 256
"""Rows that are widened at a time, so that they stay in the processor's cache."""
_MANTISSA = 23 - 10
_WITHOUT_COPIES_OF_THE_SIGN = np.int32(-0x70000001)
_BIAS = np.float32(2.0 ** (127 - 15))
_QUERIES = 64
"""Queries per pass over the rows."""
_NUMBERS = 1 << 22
"""Components per block: 16 MiB, whose memory the next block reuses."""
_UNIT = 2.0**-24
_ROUNDINGS = 8
"""Roundings in addition to the sums: of the query, of scaling and of the score."""


def dead_name(generation: int) -> str:
    return f"vectors.dead.{generation}"


class Vectors:
    """Reader of one state. Immutable and thread-safe."""

    def __init__(self, folder: Path, state: VectorState) -> None:
        sizes = state.files
        self._matrix = array(folder, MATRIX, PRECISIONS[state.options.precision], sizes)
        self._matrix = self._matrix.reshape(-1, state.encoder.dimension)
        self._rows = array(folder, ROWS, ROW, sizes)
        self._dead = array(folder, dead_name(state.generation), NUMBER, sizes)

    def passages(self) -> Integers:
        """Return the numbers of the passages that have vectors."""
        return self._by_number[0]

    def of(self, numbers: Integers) -> list[Floats | None]:
        """Return the vectors of passages by number, in stored precision; None if missing."""
        known, rows = self._by_number
        indexes = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
        present = known[indexes] == numbers
        rows = rows[indexes[present]]
        values = iter(self._values(rows) * self._rows["scale"][rows, None])
        return [next(values) if is_present else None for is_present in present]

    def _values(self, rows: Integers) -> Floats:
        return self._matrix[rows].astype(np.float32)

    @cached_property
    def _by_number(self) -> tuple[Integers, Integers]:
        """Ascending numbers of passages, and the row of each."""
        numbers = self._rows["number"][self.live].astype(np.int64)
        order = np.argsort(numbers, kind="stable")
        return numbers[order], self.live[order]

    def rows_of(self, passages: NDArray[np.bool_]) -> Integers:
        """Return the live rows of the passages whose number is marked True."""
        rows: Integers = self.live[passages[self._rows["number"][self.live]]]
        return rows

    def best(self, queries: Floats, k: int, among: Integers | None = None) -> Iterator[tuple[Integers, Floats]]:
        """Yield for each query the numbers and scores of passages that include its best ``k`` and ties with the k-th.

        A score is the inner product in 64 bits, rounded to 32, so that it does not depend on the batch.

        :param among: the rows to consider; None for all.
        """
        among = self.live if among is None else among
        for start in range(0, len(queries), _QUERIES):
            block = queries[start : start + _QUERIES]
            for query, rows in zip(block, self._candidates(block, k, among), strict=True):
                yield self._rows["number"][rows].astype(np.int64), self._scores(query, rows)

    def _candidates(self, queries: Floats, k: int, among: Integers) -> list[Integers]:
        def products_of(start: int, end: int) -> tuple[Floats, float]:
            # A slice of the memory map needs no copy.
            rows = slice(start, end) if len(among) == len(self._rows) else among[start:end]
            products = queries @ _widened(self._matrix[rows]).T
            if self._matrix.dtype == np.int8:
                products *= self._rows["scale"][rows]
            return products, float(self._rows["norm"][rows].max())

        return [among[indexes] for indexes in candidates(queries, len(among), products_of, k)]

    def _scores(self, query: Floats, rows: Integers) -> Floats:
        wide = query.astype(np.float64)
        scores = np.empty(len(rows), np.float32)
        for start in range(0, len(rows), _BLOCK):
            some = rows[start : start + _BLOCK]
            # Not a matrix product, because BLAS sums in an order that depends on a row's index.
            products = np.einsum("rd,d->r", self._matrix[some].astype(np.float64), wide)
            scores[start : start + _BLOCK] = products * self._rows["scale"][some]
        return scores

    @cached_property
    def live(self) -> Integers:
        return np.delete(np.arange(len(self._rows)), self._dead)


def _widened(matrix: NDArray[Any]) -> Floats:
    """Return the values as float32."""
    if matrix.dtype != np.float16:
        return matrix.astype(np.float32, copy=False)
    # numpy converts one value at a time, in four times as long. The bits of a half-precision number, shifted to their
    # places in a single-precision one, are the number times 2^-112, because the exponents have different biases.
    bits = np.empty(matrix.shape, np.int32)
    wide = bits.view(np.float32)
    for start in range(0, len(matrix), _CACHED):
        part = bits[start : start + _CACHED]
        part[...] = matrix[start : start + _CACHED].view("<i2")
        part <<= _MANTISSA
        part &= _WITHOUT_COPIES_OF_THE_SIGN
        wide[start : start + _CACHED] *= _BIAS
    return wide


def candidates(
    queries: Floats, count: int, products_of: Callable[[int, int], tuple[Floats, float]], k: int
) -> list[Integers]:
    """Return for each query the indexes of a few rows that include its best ``k`` and all that tie with the k-th.

    Goes over blocks of rows, so that memory stays flat. Matrix products are fast, but their last bits depend on the
    shapes. Here they only select candidates, by a bound that holds for any order of summation:
    |computed - exact| <= n u |q| |x|, with n additions and u = 2^-24.

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


class VectorWriter:
    """Appends rows after the committed ones. The folder's writer holds the lock and commits."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self._name = f"collection {folder}"
        self._data = folder / manifest.data
        self._generation = manifest.vector_commits + 1
        self._state = manifest.vectors
        files = {} if manifest.vectors is None else manifest.vectors.files
        self._matrix, self._rows = Appender(self._data, MATRIX, files), Appender(self._data, ROWS, files)
        self._files = [self._matrix, self._rows]

    def add(self, numbers: NDArray[Any], matrix: NDArray[Any], encoder: Encoder, options: VectorOptions | None) -> None:
        """Append the vectors of passages, by number."""
        kept = None if self._state is None else (self._state.encoder, self._state.options)
        made_by = vectors_kept(kept, encoder, options, PRECISIONS, self._name)
        state = self._state or VectorState(*made_by)
        if state.options.index == "hnsw":
            raise InputError(
                f"{self._name}: a folder does not support graphs; expected index auto or exact, or a collection in "
                "Elasticsearch."
            )
        values = checked_vectors(matrix, len(numbers), encoder, self._name)
        for start in range(0, len(numbers), _BLOCK):
            some = numbers[start : start + _BLOCK]
            rows = np.empty(len(some), ROW)
            rows["number"] = some
            rows["norm"], rows["scale"] = self._append(values[start : start + _BLOCK], state.options.precision)
            self._rows.append(rows.tobytes())
        self._state = state

    def _append(self, values: Floats, precision: str) -> tuple[NDArray[Any], NDArray[Any]]:
        """Write vectors; return the norm and the scale of each."""
        stored, scales = self._stored(values, precision)
        self._matrix.append(stored.tobytes())
        return np.linalg.norm(stored.astype(np.float64), axis=1) * scales, scales

    def _stored(self, values: Floats, precision: str) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return vectors in a stored precision, and the scale of each."""
        largest = np.abs(values).max(axis=1)
        if precision == "int8":
            scales = (largest / _LARGEST_INT8).astype(np.float32)
            scales[scales == 0] = 1.0
            rounded = np.round(values / scales[:, None].astype(np.float64))
            return np.clip(rounded, -_LARGEST_INT8, _LARGEST_INT8).astype(np.int8), scales
        if largest.max(initial=0) > np.finfo(PRECISIONS[precision]).max:
            raise InputError(f"{self._name}: a component is too large for {precision}; use float32 or int8.")
        return values.astype(PRECISIONS[precision]), np.ones(len(values), np.float32)

    def write(self, deleted: NDArray[Any]) -> VectorState | None:
        """Sync the files; return the new state, None without live rows. ``deleted``: numbers of deleted passages."""
        files = {name: extent for file in self._files for name, extent in file.sync().items()}
        numbers = array(self._data, ROWS, ROW, files)["number"]
        _, last = np.unique(numbers[::-1], return_index=True)
        live = np.zeros(len(numbers), bool)
        live[len(numbers) - 1 - last] = True
        live &= ~np.isin(numbers, deleted)
        if self._state is None or not live.any():
            return None
        files |= write_array(self._data, dead_name(self._generation), np.flatnonzero(~live).astype(NUMBER))
        return replace(self._state, generation=self._generation, count=int(np.count_nonzero(live)), files=files)

    def close(self) -> None:
        for file in self._files:
            file.close()
