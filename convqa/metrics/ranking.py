"""Measures of rankings with binary relevance, as trec_eval and GEval compute them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from ctypes import c_float
from math import log2


def ranked(scores: Mapping[str, float]) -> list[str]:
    """Sort ids by score (a 32-bit float in C) descending, ties by id (bytes) descending, as trec_eval does.

    >>> ranked({"u_p10": 1.0, "u_p9": 1.0, "a": 15.0000002, "b": 15.0000001})
    ['b', 'a', 'u_p9', 'u_p10']
    """
    # Strings compare like their bytes, since UTF-8 keeps the order of code points.
    pairs = [(c_float(score).value, id) for id, score in scores.items()]
    pairs.sort(reverse=True)
    return [id for _, id in pairs]


def reciprocal_rank(
    relevant: Collection[str],
    ranking: Sequence[str],
    k: int | None = None,
) -> float:
    """Return 1 / rank of the first relevant id, or 0 if it is not in the first ``k`` (None: no cut-off).

    >>> reciprocal_rank({"b"}, ["a", "b"])
    0.5
    >>> reciprocal_rank({"b"}, ["a", "b"], k=1)
    0.0
    """
    for rank, id in enumerate(ranking[:k], 1):
        if id in relevant:
            return 1 / rank
    return 0.0


def recall(
    relevant: Collection[str],
    ranking: Sequence[str],
    k: int | None = None,
) -> float:
    """Share of the relevant ids among the first ``k`` (None: all), which is not the hit rate; 0 if nothing is relevant.

    >>> recall({"a", "b"}, ["x", "a", "b"], 2)
    0.5
    """
    if not relevant:
        return 0.0
    retrieved = set(relevant).intersection(ranking[:k])
    return len(retrieved) / len(relevant)


def ndcg(
    relevant: Collection[str],
    ranking: Sequence[str],
    k: int | None = None,
) -> float:
    """Sum of 1 / log2(rank + 1) over the relevant ids among the first ``k`` (None: all), divided by that of the best
    ranking (trec_eval's ndcg_cut).

    >>> round(ndcg({"a", "b", "c"}, ["x", "a", "y", "z", "b"], 10), 4)
    0.4776
    """
    if not relevant:
        return 0.0
    gain = 0.0
    for rank, id in enumerate(ranking[:k], 1):
        if id in relevant:
            gain += 1 / log2(rank + 1)
    best_gain = 0.0
    for rank, _ in enumerate(list(relevant)[:k], 1):
        best_gain += 1 / log2(rank + 1)
    return gain / best_gain


def geval_ndcg(
    relevant: Collection[str],
    ranking: Sequence[str],
    k: int = 10,
) -> float:
    """NDCG as in GEval (NDCG.hs, and Core.hs for lines without gold): repetitions in the ranking are removed before the
    cut-off, and it is 1 if nothing is relevant.

    >>> round(geval_ndcg(["a", "b"], ["a", "a", "x", "b"], 3), 4)
    0.9197
    >>> geval_ndcg([], ["x"])
    1.0
    """
    if not relevant:
        return 1.0
    distinct = list(dict.fromkeys(ranking))
    return ndcg(set(relevant), distinct, k)
