"""NDCG with binary relevance as in GEval (src/Data/NDCG.hs, and Core.hs for lines without gold)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from convqa.metrics.ndcg import ndcg


def geval_ndcg(relevant: Collection[str], ranking: Sequence[str], k: int = 10) -> float:
    """NDCG of a ranking whose repetitions are removed before the cut-off; 1 if nothing is relevant.

    >>> round(geval_ndcg(["a", "b"], ["a", "a", "x", "b"], 3), 4)
    0.9197
    >>> geval_ndcg([], ["x"])
    1.0
    """
    return ndcg(set(relevant), list(dict.fromkeys(ranking)), k) if relevant else 1.0
