"""The BM25 formula of folder stores and the ``given`` retriever. Elasticsearch and Anserini compute the same scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

K1 = 0.82
B = 0.68
"""Anserini's parameters for web passages (tuned on MS MARCO), the default of every retriever."""


def bm25(
    frequencies: NDArray[Any],
    weights: NDArray[np.float64],
    df: NDArray[Any],
    lengths: NDArray[Any],
    passages: int,
    average: float,
    k1: float = K1,
    b: float = B,
) -> NDArray[np.float64]:
    """Return the sum over terms of weight * idf * tf / (tf + k1 (1 - b + b len/avg)), without the factor (k1 + 1).

    The idf is Lucene's, ln(1 + (N - df + .5) / (df + .5)). Lengths are rounded as in Lucene
    (docs/decisions/002-round-lengths-as-lucene-does.md); their average is not.

    :param frequencies: shape (terms, candidates). :param weights, df: one per term. :param lengths: one per candidate.
    :param passages, average: number and mean length of the passages with a token in the field.
    :return: shape (candidates,).
    """
    parts = frequencies / (frequencies + norms(lengths, average, k1, b))
    # Summed term by term, so that a passage's score does not depend on the other candidates.
    scores: NDArray[np.float64] = ((weights * idf(df, passages))[:, None] * parts).sum(axis=0)
    return scores


def idf(df: Any, passages: int) -> Any:
    """Return ln(1 + (N - df + .5) / (df + .5)), for a number or an array."""
    return np.log1p((passages - df + 0.5) / (df + 0.5))


def norms(
    lengths: NDArray[Any],
    average: float,
    k1: float,
    b: float,
) -> NDArray[np.float64]:
    """Return k1 (1 - b + b len/avg) of each length, or a tiny number instead of 0, so that no score is 0 / 0."""
    values: NDArray[np.float64] = np.maximum(k1 * (1 - b + b * lucene_lengths(lengths) / average), 1e-30)
    return values


def lucene_lengths(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Round lengths as Lucene does to fit one byte: exact below 40, then down to 4 significant bits above 24.

    Source: org.apache.lucene.util.SmallFloat.intToByte4.

    >>> lucene_lengths(np.array([7, 39, 41, 100, 1000])).tolist()
    [7, 39, 40, 96, 984]
    """
    over = np.maximum(lengths.astype(np.int64) - 24, 0)
    _, bits = np.frexp(over)
    dropped = np.maximum(bits.astype(np.int64) - 4, 0)
    rounded = 24 + (over >> dropped << dropped)
    return np.where(lengths < 24, lengths, rounded)
