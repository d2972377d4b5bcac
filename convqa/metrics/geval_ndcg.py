"""NDCG with binary relevance as GEval has it (src/Data/NDCG.hs and what Core.hs makes of lines without gold)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from convqa.metrics.ndcg import ndcg


def geval_ndcg(relevant: Collection[str], ranking: Sequence[str], k: int = 10) -> float:
    """``ndcg`` of a ranking without its repeats, which go before it is cut; 1 where nothing is relevant.

    >>> round(geval_ndcg(["a", "b"], ["a", "a", "x", "b"], 3), 4)
    0.9197
    >>> geval_ndcg([], ["x"])
    1.0
    """
    return ndcg(set(relevant), list(dict.fromkeys(ranking)), k) if relevant else 1.0
