"""Vectors for measurements: of real texts, by the shipped encoder or by LSA, and a random mixture."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from lucene_equality import union
from numpy.typing import NDArray
from synthetic import questions

DIMENSION = 384
BLOCK = 10_000
_EXTRA = 16
_ENCODED_AT_ONCE = 1024
_CENTRES = 3000
_INNER = 96

Matrix = NDArray[np.float32]


class Sparse:
    """Rows of (column, value) pairs, as a matrix that multiplies dense ones."""

    def __init__(self, rows: list[dict[int, float]], width: int) -> None:
        self.shape = len(rows), width
        self._row = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        self._column = np.fromiter((column for row in rows for column in row), np.int64)
        self._value = np.fromiter((value for row in rows for value in row.values()), np.float32)

    def times(self, dense: Matrix) -> Matrix:
        return _gathered(self._row, self._column, self._value, dense, self.shape[0])

    def transposed_times(self, dense: Matrix) -> Matrix:
        order = self._column.argsort(kind="stable")
        return _gathered(self._column[order], self._row[order], self._value[order], dense, self.shape[1])


def _gathered(rows: NDArray[Any], columns: NDArray[Any], values: NDArray[Any], dense: Matrix, height: int) -> Matrix:
    """Sum rows of ``dense``; ``rows`` is sorted."""
    product = np.zeros((height, dense.shape[1]), np.float32)
    for start in range(0, len(rows), BLOCK):
        part = slice(start, start + BLOCK)
        distinct, first = np.unique(rows[part], return_index=True)
        product[distinct] += np.add.reduceat(dense[columns[part]] * values[part, None], first)
    return product


def real(data: Path) -> tuple[list[str], Matrix, Matrix]:
    """Return texts, their vectors and the questions' vectors."""
    from convqa.text.analysis import analyzer

    tokens = analyzer("en").tokens
    texts = [f"{passage.title}\n{passage.text}" for passage in union(data)]
    counted = [Counter(tokens(text)) for text in texts]
    df = Counter(token for counts in counted for token in counts)
    known = {token: number for number, token in enumerate(sorted(token for token in df if df[token] > 1))}

    def weighted(counts: Counter[str]) -> dict[int, float]:
        weights = {
            known[token]: (1 + np.log(count)) * np.log(len(texts) / df[token])
            for token, count in counts.items()
            if token in known
        }
        length = np.sqrt(sum(weight**2 for weight in weights.values())) or 1.0
        return {column: weight / length for column, weight in weights.items()}

    passages = Sparse([weighted(counts) for counts in counted], len(known))
    asked = Sparse([weighted(Counter(tokens(text))) for text in questions(data, "en", 1000)], len(known))
    basis = _right_singular_vectors(passages)
    return texts, _unit(passages.times(basis)), _unit(asked.times(basis))


def encoded(data: Path, cache: Path) -> tuple[list[str], Matrix, Matrix]:
    """Return conversation sets' texts and Wikipedia leads, their vectors by the shipped encoder, and the questions'.

    :param cache: an .npz file for the vectors, which take minutes on two cores.
    """
    texts = [passage.whole_text for passage in union(data) if not passage.id.startswith("vaswani/")]
    if not cache.is_file():
        from convqa.models import load_encoder

        encoder = load_encoder("encoder")
        blocks = []
        for start in range(0, len(texts), _ENCODED_AT_ONCE):
            blocks.append(encoder.encode(texts[start : start + _ENCODED_AT_ONCE], role="passage"))
            print(f"{start + len(blocks[-1]):,} of {len(texts):,} passages encoded", file=sys.stderr, flush=True)
        asked = encoder.encode(questions(data, "en", 1000), role="query")
        cache.parent.mkdir(parents=True, exist_ok=True)
        np.savez(cache, vectors=np.concatenate(blocks), asked=asked)
    kept = np.load(cache)
    return texts, kept["vectors"], kept["asked"]


def _right_singular_vectors(matrix: Sparse) -> Matrix:
    """Approximate the first ``DIMENSION``: randomized range finder with one power iteration."""
    chance = np.random.default_rng(7)
    start = chance.standard_normal((matrix.shape[1], DIMENSION + _EXTRA), np.float32)
    left = np.linalg.qr(matrix.times(start))[0]
    left = np.linalg.qr(matrix.times(np.linalg.qr(matrix.transposed_times(left))[0]))[0]
    right = matrix.transposed_times(left)
    values, vectors = np.linalg.eigh(right.T @ right)
    order = values.argsort()[::-1][:DIMENSION]
    found: Matrix = (right @ vectors[:, order] / np.sqrt(values[order])).astype(np.float32)
    return found


def _unit(matrix: Matrix) -> Matrix:
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return (matrix / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def mixture(count: int) -> Iterator[Matrix]:
    """Yield blocks of vectors; the first are the 300 questions."""
    chance = np.random.default_rng(7)
    centres = chance.standard_normal((_CENTRES, _INNER), np.float32)
    turn = np.linalg.qr(chance.standard_normal((DIMENSION, _INNER)))[0].astype(np.float32)
    for size in (300, *[min(BLOCK, count - start) for start in range(0, count, BLOCK)]):
        inner = centres[chance.integers(0, _CENTRES, size)] + 0.7 * chance.standard_normal((size, _INNER), np.float32)
        yield _unit(inner @ turn.T + 0.1 * chance.standard_normal((size, DIMENSION), np.float32))
