"""Semantic answer similarity (Risch et al., MRQA 2021): how alike a cross-encoder finds answer and truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Scorer = Callable[[Sequence[tuple[str, str]]], Sequence[float]]
"""(model answer, truth) pairs -> one similarity each, about 0 to 1."""


def sas(pairs: Sequence[tuple[str, str]], scorer: Scorer) -> list[float]:
    """The similarity of each (model answer, truth) pair, in that order, as the official script has it.

    >>> sas([("yes", "yes"), ("no", "yes")], lambda pairs: [float(a == b) for a, b in pairs])
    [1.0, 0.0]

    :raises ValueError: if the scorer does not give one score a pair.
    """
    scores = [float(score) for score in scorer(pairs)]
    if len(scores) != len(pairs):
        raise ValueError(f"the scorer gave {len(scores)} scores for {len(pairs)} pairs")
    return scores
