"""Token weights of passages: sparse vectors in inverted lists, of which a query reads those of its tokens.

Rows are as in :mod:`convqa.stores.embedded.vectors`. A weight takes 16 bits, as a Lucene feature does: a 32-bit float
without its sign and its last 15 bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from convqa.stores.base import Doubles, Floats, Integers
from convqa.stores.embedded.files import NUMBER, Array, ArrayWriter, Extents
from convqa.stores.embedded.lists import Lists, ListWriter
from convqa.stores.embedded.manifest import VectorState
from convqa.stores.embedded.vectors import PREFIX, ROW, ROWS, Vectors, VectorWriter

LISTS = f"{PREFIX}lists."
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
        self._dimension = state.encoder.dimension
        self._lists = Lists(data, LISTS, _WEIGHT, extents)

    def _values(self, rows: Integers) -> Floats:
        tokens, weights = self._lists.keyed(0, self._dimension)
        distinct, inverse = np.unique(rows, return_inverse=True)
        chosen = np.isin(weights["row"], distinct)
        weights = weights[chosen]
        matrix = np.zeros((len(distinct), self._dimension), np.float32)
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

        def product(token: int, weights: Array, _: Integers) -> Doubles:
            return float(query[token]) * _floats(weights).astype(np.float64)

        tokens = np.flatnonzero(query).tolist()
        return self._lists.sums(tokens, product, len(self._rows)).astype(np.float32)


def _floats(weights: Array) -> Floats:
    return (weights["value"].astype(np.uint32) << _DROPPED_BITS).view(np.float32)


class WeightWriter(VectorWriter):
    """Writer of weights."""

    def __init__(self, arrays: ArrayWriter, state: VectorState) -> None:
        super().__init__(arrays, state)
        self._lists = ListWriter(arrays, LISTS, _WEIGHT)

    def _append(self, values: Floats) -> tuple[Array, Array]:
        rows, tokens = np.nonzero(values > 0)
        weights = np.empty(len(rows), _WEIGHT)
        weights["row"] = rows + self._arrays.count(ROWS, ROW)
        weights["value"] = values[rows, tokens].view(np.uint32) >> _DROPPED_BITS
        self._lists.add(tokens, weights)
        return np.zeros(len(values)), np.ones(len(values))  # norms are unused

    def commit(self, generation: int, live: Integers) -> None:
        kept = np.zeros(self._arrays.count(ROWS, ROW), bool)
        kept[live] = True
        self._lists.commit(generation, self._state.encoder.dimension, kept)
