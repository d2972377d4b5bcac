"""Vectors of passages: a matrix file in memory map, and beside it, for each row, whose vector it is.

``vectors.matrix`` and ``vectors.rows`` grow at their ends; ``vectors.dead.G`` lists the rows that have no meaning since
generation G: those of deleted passages, and those that a later vector of the passage replaced.

Precisions: ``float32`` and ``float16`` as they are; ``int8`` is round(x / scale) with a scale for each row, its largest
component / 127. A scale for each row needs no look at other rows, so that vectors may come in any order, and at 384
dimensions its recall was that of a scale for each dimension (docs/benchmarks/vectors.md). Inner products are with what
is stored, and every vector is compared: at 500,000 vectors numpy ranks 134 questions a second, and a graph takes longer
to be made than 16,000 turns take without one (docs/benchmarks/vectors.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.errors import InputError
from convqa.stores.base import Encoder, Floats, Integers, VectorOptions
from convqa.stores.checks import checked_vectors, refuse_other_vectors
from convqa.stores.embedded import exact
from convqa.stores.embedded.files import Appender, array, write_array
from convqa.stores.embedded.lookup import NUMBER
from convqa.stores.embedded.manifest import Manifest, VectorState

PRECISIONS: dict[str, np.dtype[Any]] = {"float32": np.dtype("<f4"), "float16": np.dtype("<f2"), "int8": np.dtype("i1")}
ROW = np.dtype([("number", NUMBER), ("norm", "<f4"), ("scale", "<f4")])
"""Whose vector a row is, its Euclidean length as it is stored, and what its components are multiplied by."""

MATRIX, ROWS = "vectors.matrix", "vectors.rows"
_BLOCK = 8192
_CACHED = 256
_LARGEST_INT8 = 127
_MANTISSA = 23 - 10
_WITHOUT_COPIES_OF_THE_SIGN = np.int32(-0x70000001)
_BIAS = np.float32(2.0 ** (127 - 15))


def dead_name(generation: int) -> str:
    return f"vectors.dead.{generation}"


class Vectors:
    """The reading side of one state. Immutable, shared by threads."""

    def __init__(self, folder: Path, state: VectorState) -> None:
        sizes = state.files
        self._matrix = array(folder, MATRIX, PRECISIONS[state.options.precision], sizes)
        self._matrix = self._matrix.reshape(-1, state.encoder.dimension)
        self._rows = array(folder, ROWS, ROW, sizes)
        self._dead = array(folder, dead_name(state.generation), NUMBER, sizes)

    def passages(self) -> NDArray[Any]:
        """The numbers of the passages that have vectors."""
        numbers: NDArray[Any] = np.delete(self._rows["number"], self._dead)
        return numbers

    def of(self, numbers: Integers) -> list[Floats | None]:
        """The vectors of passages by number, as they are stored; None where there is none."""
        known, rows = self._by_number
        places = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
        found = known[places] == numbers
        at = rows[places[found]]
        each = iter(self._values(at) * self._rows["scale"][at, None])
        return [next(each) if there else None for there in found]

    def _values(self, rows: Integers) -> Floats:
        return _widened(self._matrix[rows])

    @cached_property
    def _by_number(self) -> tuple[Integers, Integers]:
        """Numbers of passages in rising order, and the row of each."""
        numbers = self._rows["number"][self.live].astype(np.int64)
        order = np.argsort(numbers, kind="stable")
        return numbers[order], self.live[order]

    def rows_of(self, passages: NDArray[np.bool_]) -> Integers:
        """The current rows of some passages: those whose number's place is True."""
        rows: Integers = self.live[passages[self._rows["number"][self.live]]]
        return rows

    def best(self, queries: Floats, k: int, among: Integers | None = None) -> Iterator[tuple[Integers, Floats]]:
        """For each query the passages that may be among its best ``k`` (all that tie with the k-th), and their scores.

        A score is the inner product in 64 bits, rounded to 32: what it is does not depend on what else is asked.

        :param among: rows; only these are looked at.
        """
        for start in range(0, len(queries), exact.QUERIES):
            block = queries[start : start + exact.QUERIES]
            for query, rows in zip(block, self._candidates(block, k, among), strict=True):
                yield self._rows["number"][rows].astype(np.int64), self._scores(query, rows)

    def _candidates(self, queries: Floats, k: int, among: Integers | None) -> list[Integers]:
        if among is None:
            return exact.candidates(queries, len(self._rows), self._block, k)

        def block(start: int, end: int) -> exact.Block:
            return self._some(among[start:end], np.empty(0, np.int64))

        return [among[places] for places in exact.candidates(queries, len(among), block, k)]

    def _scores(self, query: Floats, rows: Integers) -> Floats:
        wide = query.astype(np.float64)
        scores = np.empty(len(rows), np.float32)
        for start in range(0, len(rows), _BLOCK):
            some = rows[start : start + _BLOCK]
            # Not a product of matrices: BLAS adds in an order that depends on a row's place.
            products = np.einsum("rd,d->r", self._matrix[some].astype(np.float64), wide)
            scores[start : start + _BLOCK] = products * self._rows["scale"][some]
        return scores

    @cached_property
    def live(self) -> Integers:
        """The current rows: neither replaced by a later vector nor of a deleted passage."""
        return np.delete(np.arange(len(self._rows)), self._dead)

    def _block(self, start: int, end: int) -> exact.Block:
        """Rows ``[start, end)`` for the exact search."""
        first, last = np.searchsorted(self._dead, (start, end))
        return self._some(slice(start, end), self._dead[first:last].astype(np.int64) - start)

    def _some(self, rows: slice | Integers, dead: Integers) -> exact.Block:
        """These rows for the exact search; ``dead``: places in them."""
        found = self._rows[rows]
        scales = found["scale"] if self._matrix.dtype == np.int8 else None
        return exact.Block(_widened(self._matrix[rows]), scales, float(found["norm"].max()), dead)


class VectorWriter:
    """The writing side: rows go behind what is committed. The folder's writer has the lock, and says when to commit."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self._name = f"collection {folder}"
        self._data = folder / manifest.data
        self._generation = manifest.vector_commits + 1
        self._state = manifest.vectors
        files = {} if manifest.vectors is None else manifest.vectors.files
        self._matrix, self._rows = Appender(self._data, MATRIX, files), Appender(self._data, ROWS, files)
        self._files = [self._matrix, self._rows]

    def add(self, numbers: NDArray[Any], matrix: NDArray[Any], encoder: Encoder, options: VectorOptions | None) -> None:
        """Append the vectors of passages, by number; what cannot be stored beside the first ones is refused."""
        state = self._state or VectorState(encoder, options or VectorOptions())
        self._check(state.options)
        refuse_other_vectors(state.encoder, state.options, encoder, options, self._name)
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

    def _check(self, options: VectorOptions) -> None:
        """:raises InputError: for what this engine cannot keep or search."""
        if options.precision not in PRECISIONS:
            raise InputError(
                f"{self._name}: this engine cannot keep vectors in precision {options.precision!r}; wanted: "
                f"{', '.join(PRECISIONS)}."
            )
        if options.index == "hnsw":
            raise InputError(
                f"{self._name}: a folder compares every vector and keeps no graph; wanted: index auto or exact, or a "
                "collection in Elasticsearch."
            )

    def _stored(self, values: Floats, precision: str) -> tuple[NDArray[Any], NDArray[Any]]:
        """Vectors as they are written, and the scale of each."""
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
        """Make the files last; return the state that names them. No live row: no vectors. ``deleted``: all numbers."""
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
        """End; what was not committed is dropped."""
        for file in self._files:
            file.close()


def _widened(matrix: NDArray[Any]) -> Floats:
    """The same numbers in 32 bits."""
    if matrix.dtype != np.float16:
        return matrix.astype(np.float32, copy=False)
    # numpy widens one by one, in four times as long. The bits of a half number, moved to their places in a single one
    # (which has another bias of the exponent), are 2^-112 times that number.
    bits = np.empty(matrix.shape, np.int32)
    wide = bits.view(np.float32)
    for start in range(0, len(matrix), _CACHED):
        part = bits[start : start + _CACHED]
        part[...] = matrix[start : start + _CACHED].view("<i2")
        part <<= _MANTISSA
        part &= _WITHOUT_COPIES_OF_THE_SIGN
        wide[start : start + _CACHED] *= _BIAS
    return wide
