"""The weights of a query's terms that Lucene takes: as boosts, 32-bit floats that are not negative."""

from __future__ import annotations

from collections.abc import Iterable

from convqa.domain import Query

LARGEST = 1e30
"""What all weights of a query must stay below, so that they and the scores add up exactly."""


def check_weights(weights: Iterable[float], query: Query) -> None:
    """:raises ValueError: for a weight that is no finite number, negative, or too large."""
    given = list(weights)
    if not sum(map(abs, given)) < LARGEST:
        raise ValueError(f"the weights of a query's terms must be finite and below {LARGEST:g}: {query}")
    if any(weight < 0 for weight in given):
        raise ValueError(f"Lucene takes no negative weights of terms: {query}")
