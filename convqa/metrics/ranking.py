"""Measures of rankings with binary relevance, as trec_eval and GEval have them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import log2

from convqa.domain import float32


def ranked(scores: Mapping[str, float]) -> list[str]:
    """Ids in the order in which trec_eval, and with it every official ranking measure, sees scored passages.

    By score (compared as 32-bit floats) descending, ties by id (bytes) descending; the mapping's order is moot.

    >>> ranked({"u_p10": 1.0, "u_p9": 1.0, "a": 15.0000002, "b": 15.0000001})
    ['b', 'a', 'u_p9', 'u_p10']
    """
    # UTF-8 keeps the order of code points, so comparing strings equals comparing their bytes.
    return [id for _, id in sorted(((float32(score), id) for id, score in scores.items()), reverse=True)]


def recall(relevant: Collection[str], ranking: Sequence[str], k: int) -> float:
    """Share of the relevant ids among the first ``k`` (trec_eval's recall, not the hit rate); 0 if nothing is relevant.

    >>> recall({"a", "b"}, ["x", "a", "b"], 2)
    0.5
    """
    return len(set(relevant) & set(ranking[:k])) / len(relevant) if relevant else 0.0


def reciprocal_rank(relevant: Collection[str], ranking: Sequence[str], k: int | None = None) -> float:
    """1 / rank of the first relevant id, 0 if there is none among the first ``k`` (None: no cut-off, as officially).

    Its mean over turns is MRR (trec_eval's recip_rank).

    >>> reciprocal_rank({"b"}, ["a", "b"])
    0.5
    >>> reciprocal_rank({"b"}, ["a", "b"], k=1)
    0.0
    """
    for rank, id in enumerate(ranking[:k], 1):
        if id in relevant:
            return 1 / rank
    return 0.0


def ndcg(relevant: Collection[str], ranking: Sequence[str], k: int) -> float:
    """Sum of 1 / log2(rank + 1) over the relevant ids among the first ``k``, by that of the best ranking.

    As trec_eval's ndcg_cut.

    >>> round(ndcg({"a", "b", "c"}, ["x", "a", "y", "z", "b"], 10), 4)
    0.4776
    """
    ideal = sum(1 / log2(rank + 1) for rank in range(1, min(k, len(relevant)) + 1))
    gain = sum(1 / log2(rank + 1) for rank, id in enumerate(ranking[:k], 1) if id in relevant)
    return gain / ideal if ideal else 0.0


def geval_ndcg(relevant: Collection[str], ranking: Sequence[str], k: int = 10) -> float:
    """``ndcg`` of a ranking without its repeats, which go before it is cut; 1 where nothing is relevant.

    As GEval has it (src/Data/NDCG.hs and what Core.hs makes of lines without gold).

    >>> round(geval_ndcg(["a", "b"], ["a", "a", "x", "b"], 3), 4)
    0.9197
    >>> geval_ndcg([], ["x"])
    1.0
    """
    return ndcg(set(relevant), list(dict.fromkeys(ranking)), k) if relevant else 1.0
