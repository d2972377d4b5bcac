"""Token weights of passages: sparse vectors in inverted lists, of which a query reads those of its tokens.

Each commit adds a block of lists. ``vectors.matrix`` holds the weights of a block sorted by token, ``vectors.starts``
the start of each token's list, one row per block; rows are as in :mod:`convqa.stores.embedded.vectors`. A weight takes
16 bits, as a Lucene feature does: a 32-bit float without its sign and its last 15 bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from convqa.stores.base import Encoder, Floats, Integers
from convqa.stores.embedded.files import NUMBER, OFFSET, Appender, Array, Extent, Mask, Sizes, array
from convqa.stores.embedded.manifest import CollectionManifest, VectorState
from convqa.stores.embedded.vectors import MATRIX, PREFIX, FolderVectorWriter, Vectors

STARTS = f"{PREFIX}starts"
_WEIGHT = np.dtype([("row", NUMBER), ("value", "<u2")])
_DROPPED_BITS = 15


class Weights(Vectors):
    """Reader of one state."""

    def _open(
        self,
        data: Path,
        state: VectorState,
        sizes: Sizes,
    ) -> None:
        self._starts = array(data, STARTS, OFFSET, sizes).reshape(-1, state.encoder.dimension + 1)
        self._lists = array(data, MATRIX, _WEIGHT, sizes)

    def _values(self, rows: Integers) -> Floats:
        distinct, inverse = np.unique(rows, return_inverse=True)
        tokens_per_block = self._starts.shape[1] - 1
        tokens = np.tile(np.arange(tokens_per_block), len(self._starts))
        token_of_weight = np.repeat(tokens, np.diff(self._starts, axis=1).ravel())
        chosen = np.flatnonzero(np.isin(self._lists["row"], distinct))
        weights = self._lists[chosen]
        matrix = np.zeros((len(distinct), tokens_per_block), np.float32)
        matrix[np.searchsorted(distinct, weights["row"]), token_of_weight[chosen]] = _floats(weights)
        return matrix[inverse]

    def best(
        self,
        queries: Floats,
        k: int,  # noqa: ARG002
        among: Integers | None = None,
    ) -> Iterator[tuple[Integers, Floats]]:
        """See :meth:`Vectors.best`; all passages that share a weighted token with the query."""
        among = self._live if among is None else among
        for query in queries:
            scores = self._products(query)
            rows = among[scores[among] > 0]
            yield self._rows["number"][rows].astype(np.int64), scores[rows]

    def _products(self, query: Floats) -> Floats:
        """Return the inner product with each row, summed in 64 bits token by token."""
        products = np.zeros(len(self._rows))
        for starts in self._starts:
            for token in np.flatnonzero(query):
                weights = self._lists[starts[token] : starts[token + 1]]
                products[weights["row"]] += float(query[token]) * _floats(weights).astype(np.float64)
        return products.astype(np.float32)


def _floats(weights: Array) -> Floats:
    return (weights["value"].astype(np.uint32) << _DROPPED_BITS).view(np.float32)


class WeightWriter(FolderVectorWriter):
    """Writer of weights, which stay in memory until the commit."""

    def _open(
        self,
        data: Path,
        manifest: CollectionManifest,
        encoder: Encoder,
    ) -> list[Appender]:
        self._dimension = encoder.dimension
        self._starts = Appender(data, STARTS, OFFSET, manifest.files)
        self._lists = Appender(data, MATRIX, _WEIGHT, manifest.files)
        self._waiting: list[tuple[Array, Array, Array]] = []
        return [self._starts, self._lists]

    def _append(self, values: Floats, precision: str) -> tuple[Array, Array]:  # noqa: ARG002
        rows, tokens = np.nonzero(values > 0)
        self._waiting.append((tokens, rows + len(self._rows), values[rows, tokens]))
        return np.zeros(len(values)), np.ones(len(values))  # norms are unused

    def write(self, deleted: Mask) -> tuple[VectorState | None, dict[str, Extent]]:
        if self._waiting:
            tokens, rows, values = (np.concatenate(column) for column in zip(*self._waiting, strict=True))
            order = np.lexsort((rows, tokens))
            starts = np.searchsorted(tokens[order], np.arange(self._dimension + 1))
            self._starts.append(starts + len(self._lists))
            weights = np.empty(len(order), _WEIGHT)
            weights["row"] = rows[order]
            weights["value"] = values[order].view(np.uint32) >> _DROPPED_BITS
            self._lists.append(weights)
        return super().write(deleted)
