"""Heads: logistic regressions over an encoder's features, stored entirely in the manifest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, FiniteFloat

from convqa.models.kinds.encoder import TextEncoder
from convqa.models.types import Array, Pair
from convqa.text.sentences import sentences

Rows = NDArray[np.float64]
"""Features, shape (pairs, features)."""

T = TypeVar("T")


class LogisticRegression(BaseModel, frozen=True, extra="forbid"):
    """``weights``: feature -> weight."""

    weights: dict[str, FiniteFloat]
    offset: FiniteFloat

    def probabilities(self, rows: Rows, features: Sequence[str]) -> Rows:
        """Return one probability per row of features."""
        weights = np.array([self.weights[name] for name in features])
        return probabilities(rows, weights, self.offset)


LEXICAL = "lexical"
"""The name of the checks by words alone, which use no model."""


def score_nonblank(
    pairs: Sequence[Pair],
    score: Callable[[Sequence[Pair]], Sequence[T]],
    blank: T,
) -> list[T]:
    """Return the score of each pair, ``blank`` for pairs with a blank text."""
    nonblank = [pair for pair in pairs if pair[0].strip() and pair[1].strip()]
    values = iter(score(nonblank) if nonblank else [])
    return [next(values) if pair[0].strip() and pair[1].strip() else blank for pair in pairs]


def probabilities(rows: Rows, weights: Rows, offset: float) -> Rows:
    """Return sigmoid(rows x weights + offset)."""
    # Summed row by row: the rounding of a matrix product depends on the number of rows.
    logits = (rows * weights).sum(axis=1) + offset
    values: Rows = 1 / (1 + np.exp(-np.clip(logits, -700, 700)))
    return values


def vectors_of(encoder: TextEncoder, texts: Iterable[str]) -> dict[str, Array]:
    """Return text -> vector. Repeated texts are encoded once."""
    # Sorted, so that models on torch batch texts of similar length.
    distinct = sorted(dict.fromkeys(texts), key=len)
    return dict(zip(distinct, encoder.encode(distinct), strict=True))


def parts_of(text: str, language: str = "en") -> list[str]:
    """Return the sentences of a text."""
    return [text[start:end] for start, end in sentences(text, language)]
