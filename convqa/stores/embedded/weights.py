"""Token weights of passages: sparse vectors in inverted lists, of which a query reads those of its tokens.

Each commit adds a block of lists. ``vectors.matrix`` holds the weights of a block sorted by token, ``vectors.starts``
the start of each token's list, one row per block; rows are as in :mod:`convqa.stores.embedded.vectors`. A weight takes
16 bits, as a Lucene feature does: a 32-bit float without its sign and its last 15 bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from convqa.stores.base import Floats, Integers
from convqa.stores.embedded.files import NUMBER, OFFSET, Array, ArrayWriter, Extents, array
from convqa.stores.embedded.manifest import VectorState
from convqa.stores.embedded.vectors import MATRIX, PREFIX, ROW, ROWS, Vectors, VectorWriter

STARTS = f"{PREFIX}starts"
_WEIGHT = np.dtype([("row", NUMBER), ("value", "<u2")])
_DROPPED_BITS = 15


class Weights(Vectors):
    """Reader of one state."""

    def _open(
        self,
        data: Path,
        state: VectorState,
        extents: Extents,
    ) -> None:
        self._starts = array(data, STARTS, OFFSET, extents).reshape(-1, state.encoder.dimension + 1)
        self._lists = array(data, MATRIX, _WEIGHT, extents)

    def _values(self, rows: Integers) -> Floats:
        blocks, ends = self._starts.shape
        lengths = np.diff(self._starts, axis=1).ravel()
        tokens = np.repeat(np.tile(np.arange(ends - 1), blocks), lengths)
        distinct, inverse = np.unique(rows, return_inverse=True)
        chosen = np.isin(self._lists["row"], distinct)
        weights = self._lists[chosen]
        matrix = np.zeros((len(distinct), ends - 1), np.float32)
        matrix[np.searchsorted(distinct, weights["row"]), tokens[chosen]] = _floats(weights)
        return matrix[inverse]

    def best(
        self,
        queries: Floats,
        k: int,  # noqa: ARG002
        among: Integers,
    ) -> Iterator[tuple[Integers, Floats]]:
        """See :meth:`Vectors.best`; all passages that share a weighted token with the query."""
        for query in queries:
            scores = self._products_with(query)
            rows = among[scores[among] > 0]
            yield self._rows["number"][rows].astype(np.int64), scores[rows]

    def _products_with(self, query: Floats) -> Floats:
        """Return the inner product with each row, summed in 64 bits token by token."""
        products = np.zeros(len(self._rows))
        for starts in self._starts:
            for token in np.flatnonzero(query):
                weights = self._lists[starts[token] : starts[token + 1]]
                products[weights["row"]] += float(query[token]) * _floats(weights).astype(np.float64)
        return products.astype(np.float32)


def _floats(weights: Array) -> Floats:
    return (weights["value"].astype(np.uint32) << _DROPPED_BITS).view(np.float32)


class WeightWriter(VectorWriter):
    """Writer of weights, which stay in memory until the commit."""

    def __init__(self, arrays: ArrayWriter, state: VectorState) -> None:
        super().__init__(arrays, state)
        self._waiting: list[tuple[Array, Array, Array]] = []

    def _append(self, values: Floats) -> tuple[Array, Array]:
        rows, tokens = np.nonzero(values > 0)
        self._waiting.append((tokens, rows + self._arrays.count(ROWS, ROW), values[rows, tokens]))
        return np.zeros(len(values)), np.ones(len(values))  # norms are unused

    def flush(self) -> None:
        if not self._waiting:
            return
        tokens, rows, values = (np.concatenate(column) for column in zip(*self._waiting, strict=True))
        order = np.lexsort((rows, tokens))
        starts = np.searchsorted(tokens[order], np.arange(self._state.encoder.dimension + 1))
        self._arrays.append(STARTS, starts + self._arrays.count(MATRIX, _WEIGHT))
        weights = np.empty(len(order), _WEIGHT)
        weights["row"] = rows[order]
        weights["value"] = values[order].view(np.uint32) >> _DROPPED_BITS
        self._arrays.append(MATRIX, weights)
