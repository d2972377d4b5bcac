"""The BM25 formula: folders and the retriever ``given`` use it, Elasticsearch and Anserini compute an equal one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

K1, B = 0.82, 0.68
"""Anserini's for passages of the web (tuned on MS MARCO), and the default of every retriever."""


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
    """Sum of weight * idf * tf / (tf + k1 (1 - b + b len/avg)), without the old factor (k1 + 1).

    idf is Lucene's, ln(1 + (N - df + .5) / (df + .5)); lengths are rounded as Lucene keeps them
    (docs/decisions/002-lengths-as-lucene-rounds-them.md), the average is not.

    :param frequencies: shape (terms, candidates). :param weights, df: of each term. :param lengths: of each candidate.
    :param passages, average: N and the mean length, of the passages in which the field has a token.
    :return: shape (candidates,).
    """
    idf = np.log1p((passages - df + 0.5) / (df + 0.5))
    norms = k1 * (1 - b + b * lucene_lengths(lengths) / average)
    # Never 0 / 0, though k1 may be 0.
    parts = frequencies / (frequencies + np.maximum(norms, 1e-30))
    # Added term by term, so that a passage's score does not depend on its neighbours.
    scores: NDArray[np.float64] = ((weights * idf)[:, None] * parts).sum(axis=0)
    return scores


def lucene_lengths(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Lengths in tokens as Lucene keeps them in one byte: exact below 40, then rounded down to 4 binary digits over 24.

    Source: org.apache.lucene.util.SmallFloat.intToByte4.

    >>> lucene_lengths(np.array([7, 39, 41, 100, 1000])).tolist()
    [7, 39, 40, 96, 984]
    """
    over = np.maximum(lengths.astype(np.int64) - 24, 0)
    dropped = np.maximum(np.frexp(over)[1].astype(np.int64) - 4, 0)
    return np.where(lengths < 24, lengths, 24 + (over >> dropped << dropped))
