"""Vectors of passages: a memory-mapped matrix, and a file that names the passage of each row.

Both files only grow. A row is dead if a later one has a vector of the same passage, or if the passage is deleted.

``int8`` stores round(x / scale), with the scale of a row its largest component / 127. Row scales do not depend on other
rows, and their recall equals that of a scale per dimension. Every vector is compared: at 500,000 vectors numpy ranks
134 queries a second, and a graph takes longer to build than 16,000 turns take (docs/benchmarks/vectors.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from convqa.errors import InputError
from convqa.stores.base import Encoder, Floats, Integers, VectorOptions
from convqa.stores.checks import checked_vectors, vectors_kept
from convqa.stores.embedded.files import NUMBER, Appender, Array, Extent, Mask, Sizes, array
from convqa.stores.embedded.manifest import CollectionManifest, VectorState

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
_ROUNDINGS = 8
"""Roundings in addition to the sums: of the query, of scaling and of the score."""


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
        sizes: Sizes,
        deleted: Mask,
    ) -> None:
        self._rows = array(data, ROWS, ROW, sizes)
        self._deleted = deleted
        self._open(data, state, sizes)

    def _open(
        self,
        data: Path,
        state: VectorState,
        sizes: Sizes,
    ) -> None:
        matrix = array(data, MATRIX, PRECISIONS[state.options.precision], sizes)
        self._matrix = matrix.reshape(-1, state.encoder.dimension)

    @cached_property
    def _row_of(self) -> Integers:
        return rows_by_passage(self._rows["number"], self._deleted)

    @cached_property
    def _live(self) -> Integers:
        """The rows that are searched, ascending."""
        return np.sort(self._row_of[self.passages()])

    def passages(self) -> Integers:
        """Return the numbers of the passages that have vectors."""
        return np.flatnonzero(self._row_of >= 0)

    def of(self, numbers: Sequence[int | None]) -> list[Floats | None]:
        """Return the vectors of passages by number, in stored precision; None if missing."""
        rows = [-1 if number is None else int(self._row_of[number]) for number in numbers]
        present = np.array([row for row in rows if row >= 0], np.int64)
        vectors = iter(self._values(present) * self._rows["scale"][present, None])
        return [next(vectors) if row >= 0 else None for row in rows]

    def _values(self, rows: Integers) -> Floats:
        return self._matrix[rows].astype(np.float32)

    def rows_of(self, passages: Mask) -> Integers:
        """Return the live rows of the passages whose number is marked True."""
        rows = self._row_of[passages]
        return np.sort(rows[rows >= 0])

    def best(
        self,
        queries: Floats,
        k: int,
        among: Integers | None = None,
    ) -> Iterator[tuple[Integers, Floats]]:
        """Yield for each query the numbers and scores of passages that include its best ``k`` and ties with the k-th.

        A score is the inner product in 64 bits, rounded to 32, so that it does not depend on the batch.

        :param among: the rows to consider; None for all.
        """
        among = self._live if among is None else among
        for start in range(0, len(queries), _QUERIES_PER_PASS):
            some = queries[start : start + _QUERIES_PER_PASS]
            for query, rows in zip(some, self._candidates(some, k, among), strict=True):
                yield self._rows["number"][rows].astype(np.int64), self._scores(query, rows)

    def _candidates(
        self,
        queries: Floats,
        k: int,
        among: Integers,
    ) -> list[Integers]:
        everything = len(among) == len(self._rows)
        is_int8 = self._matrix.dtype == np.int8

        def products_of(start: int, end: int) -> Floats:
            # A slice of the memory map needs no copy.
            rows = slice(start, end) if everything else among[start:end]
            products = queries @ self._matrix[rows].astype(np.float32, copy=False).T
            if is_int8:
                products *= self._rows["scale"][rows]
            return products

        longest = float(self._rows["norm"][among].max(initial=0))
        indexes = candidates(queries, len(among), longest, products_of, k)
        return [among[some] for some in indexes]

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


def candidates(
    queries: Floats,
    count: int,
    longest: float,
    products_of: Callable[[int, int], Floats],
    k: int,
) -> list[Integers]:
    """Return for each query the indexes of a few rows that include its best ``k`` and all that tie with the k-th.

    Goes over blocks of rows, so that memory stays flat. Matrix products are fast, but their last bits depend on the
    shapes. Here they only select candidates, by a bound that holds for any order of summation:
    |computed - exact| <= n u |q| |x|, with n additions and u = 2^-24.

    :param count: the number of rows.
    :param longest: the length of the longest row.
    :param products_of: returns the products of all queries with the rows ``[start, end)``, of shape (queries, rows).
    """
    lengths = np.sqrt(np.einsum("qd,qd->q", queries, queries, dtype=np.float64))
    errors = (queries.shape[1] + _ROUNDINGS) * _UNIT * lengths * longest
    floors = np.full(len(queries), -np.inf, np.float32)
    products = [np.empty(0, np.float32) for _ in queries]
    rows = [np.empty(0, np.int64) for _ in queries]
    size = max(1, _COMPONENTS_PER_BLOCK // queries.shape[1])
    for start in range(0, count, size):
        block = products_of(start, min(start + size, count))
        for query, row in enumerate(block):
            new = np.flatnonzero(row >= floors[query])
            if len(new) == 0:
                continue
            values = np.append(products[query], row[new])
            indexes = np.append(rows[query], new + start)
            if len(values) > k:
                kth = float(np.partition(values, -k)[-k])
                # Rounded down, so that a comparison in 32 bits is safe.
                floors[query] = np.nextafter(np.float32(kth - 2 * errors[query]), np.float32(-np.inf))
                kept = values >= floors[query]
                values, indexes = values[kept], indexes[kept]
            products[query], rows[query] = values, indexes
    return rows


class FolderVectorWriter:
    """Appends rows after the committed ones. The folder's writer holds the lock and commits."""

    def __init__(
        self,
        folder: Path,
        manifest: CollectionManifest,
        encoder: Encoder,
    ) -> None:
        self._name = f"collection {folder}"
        self._state = manifest.vectors
        self._data = folder / manifest.data
        self._rows = Appender(self._data, ROWS, ROW, manifest.files)
        self._files = [self._rows, *self._open(self._data, manifest, encoder)]

    def _open(
        self,
        data: Path,
        manifest: CollectionManifest,
        encoder: Encoder,  # noqa: ARG002
    ) -> list[Appender]:
        """Open the files of components."""
        self._matrix = Appender(data, MATRIX, np.dtype("u1"), manifest.files)
        return [self._matrix]

    def add(
        self,
        numbers: Array,
        matrix: Array,
        encoder: Encoder,
        options: VectorOptions | None,
    ) -> None:
        """Append the vectors of passages, by number."""
        kept = None if self._state is None else (self._state.encoder, self._state.options)
        known, kept_as = vectors_kept(kept, encoder, options, PRECISIONS, self._name)
        if kept_as.index == "hnsw":
            raise InputError(
                f"{self._name}: a folder does not support graphs; expected index auto or exact, or a collection in "
                "Elasticsearch."
            )
        values = checked_vectors(matrix, len(numbers), encoder, self._name)
        for start in range(0, len(numbers), _ROWS_PER_BLOCK):
            block = slice(start, start + _ROWS_PER_BLOCK)
            rows = np.empty(len(numbers[block]), ROW)
            rows["number"] = numbers[block]
            rows["norm"], rows["scale"] = self._append(values[block], kept_as.precision)
            self._rows.append(rows)
        self._state = self._state or VectorState(known, kept_as)

    def _append(self, values: Floats, precision: str) -> tuple[Array, Array]:
        """Write vectors; return the norm and the scale of each."""
        stored, scales = self._stored(values, precision)
        self._matrix.append(stored.view(np.uint8))
        return np.linalg.norm(stored.astype(np.float64), axis=1) * scales, scales

    def _stored(self, values: Floats, precision: str) -> tuple[Array, Array]:
        """Return vectors in a stored precision, and the scale of each."""
        largest = np.abs(values).max(axis=1)
        if precision == "int8":
            scales = (largest / _MAX_INT8).astype(np.float32)
            scales[scales == 0] = 1.0
            rounded = np.round(values / scales[:, None].astype(np.float64))
            return np.clip(rounded, -_MAX_INT8, _MAX_INT8).astype(np.int8), scales
        dtype = PRECISIONS[precision]
        if largest.max(initial=0) > np.finfo(dtype).max:
            raise InputError(f"{self._name}: a component is too large for {precision}; use float32 or int8.")
        return values.astype(dtype), np.ones(len(values), np.float32)

    def write(self, deleted: Mask) -> tuple[VectorState | None, dict[str, Extent]]:
        """Sync the files; return the new state and the files, None and no files without live rows.

        :param deleted: whether a passage is deleted, by number.
        """
        files: dict[str, Extent] = {}
        for file in self._files:
            files |= file.sync()
        rows = rows_by_passage(array(self._data, ROWS, ROW, files)["number"], deleted)
        count = int(np.count_nonzero(rows >= 0))
        if self._state is None or count == 0:
            return None, {}
        return replace(self._state, count=count), files

    def close(self) -> None:
        for file in self._files:
            file.close()
