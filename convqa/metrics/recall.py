"""Recall at a cut-off (trec_eval's recall): the share of relevant passages, not the hit rate."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def recall(relevant: Collection[str], ranking: Sequence[str], k: int) -> float:
    """Share of the relevant ids among the first ``k``; 0 if nothing is relevant.

    >>> recall({"a", "b"}, ["x", "a", "b"], 2)
    0.5
    """
    return len(set(relevant) & set(ranking[:k])) / len(relevant) if relevant else 0.0
