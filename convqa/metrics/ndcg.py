"""Normalised discounted cumulative gain with binary relevance (trec_eval's ndcg_cut)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import log2


def ndcg(relevant: Collection[str], ranking: Sequence[str], k: int) -> float:
    """Sum of 1 / log2(rank + 1) over the relevant ids among the first ``k``, divided by that of the best ranking.

    >>> round(ndcg({"a", "b", "c"}, ["x", "a", "y", "z", "b"], 10), 4)
    0.4776
    """
    ideal = sum(1 / log2(rank + 1) for rank in range(1, min(k, len(relevant)) + 1))
    gain = sum(1 / log2(rank + 1) for rank, id in enumerate(ranking[:k], 1) if id in relevant)
    return gain / ideal if ideal else 0.0
