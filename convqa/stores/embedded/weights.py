"""Token weights of passages: sparse vectors in inverted lists, of which a query reads those of its tokens.

Each commit adds a block of lists. ``vectors.matrix`` holds the weights of a block sorted by token, ``vectors.starts``
the start of each token's list, one row per block; rows and dead rows are as in :mod:`convqa.stores.embedded.vectors`.
A weight takes 16 bits, as a Lucene feature does: a 32-bit float without its sign and its last 15 bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.stores.base import Floats, Integers
from convqa.stores.embedded.files import OFFSET, Appender, array
from convqa.stores.embedded.lookup import NUMBER
from convqa.stores.embedded.manifest import Manifest, VectorState
from convqa.stores.embedded.vectors import MATRIX, ROW, ROWS, Vectors, VectorWriter, dead_name

STARTS = "vectors.starts"
_WEIGHT = np.dtype([("row", NUMBER), ("value", "<u2")])
_DROPPED = 15


class Weights(Vectors):
    """Reader of one state."""

    def __init__(self, folder: Path, state: VectorState) -> None:
        self._starts = array(folder, STARTS, OFFSET, state.files).reshape(-1, state.encoder.dimension + 1)
        self._lists = array(folder, MATRIX, _WEIGHT, state.files)
        self._rows = array(folder, ROWS, ROW, state.files)
        self._dead = array(folder, dead_name(state.generation), NUMBER, state.files)

    def _values(self, rows: Integers) -> Floats:
        distinct, inverse = np.unique(rows, return_inverse=True)
        matrix = np.zeros((len(distinct), self._starts.shape[1] - 1), np.float32)
        tokens = np.tile(np.arange(matrix.shape[1]), len(self._starts))
        tokens = np.repeat(tokens, np.diff(self._starts, axis=1).ravel())
        chosen = np.flatnonzero(np.isin(self._lists["row"], distinct))
        matrix[np.searchsorted(distinct, self._lists["row"][chosen]), tokens[chosen]] = _weights(self._lists[chosen])
        return matrix[inverse]

    def best(self, queries: Floats, k: int, among: Integers | None = None) -> Iterator[tuple[Integers, Floats]]:
        """See :meth:`Vectors.best`; only passages that share a weighted token with the query."""
        for query in queries:
            scores = self._products(query)
            rows = self.live if among is None else among
            rows = rows[scores[rows] > 0]
            if len(rows) > k:
                rows = rows[scores[rows] >= np.partition(scores[rows], -k)[-k]]
            yield self._rows["number"][rows].astype(np.int64), scores[rows]

    def _products(self, query: Floats) -> Floats:
        """Return the inner product with each row, summed in 64 bits token by token."""
        tokens = np.flatnonzero(query)
        products = np.zeros(len(self._rows))
        for block in self._starts:
            for start, end, weight in zip(block[tokens], block[tokens + 1], query[tokens].tolist(), strict=True):
                listed = self._lists[start:end]
                products[listed["row"]] += weight * _weights(listed).astype(np.float64)
        return products.astype(np.float32)


def _weights(listed: NDArray[Any]) -> Floats:
    return (listed["value"].astype(np.uint32) << _DROPPED).view(np.float32)


class WeightWriter(VectorWriter):
    """Writer of weights, which stay in memory until the commit."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        super().__init__(folder, manifest)
        self._starts = Appender(self._data, STARTS, {} if self._state is None else self._state.files)
        self._files.append(self._starts)
        self._waiting: list[tuple[NDArray[Any], ...]] = []

    def _append(self, values: Floats, precision: str) -> tuple[NDArray[Any], NDArray[Any]]:  # noqa: ARG002
        rows, tokens = np.nonzero(values > 0)
        self._waiting.append((tokens, rows + self._rows.size // ROW.itemsize, values[rows, tokens]))
        return np.zeros(len(values)), np.ones(len(values))  # norms are unused

    def write(self, deleted: NDArray[Any]) -> VectorState | None:
        if self._waiting and self._state is not None:
            tokens, rows, values = (np.concatenate(column) for column in zip(*self._waiting, strict=True))
            order = np.lexsort((rows, tokens))
            starts = np.searchsorted(tokens[order], np.arange(self._state.encoder.dimension + 1))
            self._starts.append((starts + self._matrix.size // _WEIGHT.itemsize).astype(OFFSET).tobytes())
            lists = np.empty(len(order), _WEIGHT)
            lists["row"], lists["value"] = rows[order], values[order].view(np.uint32) >> _DROPPED
            self._matrix.append(lists.tobytes())
        return super().write(deleted)
