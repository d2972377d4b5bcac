"""Reciprocal rank; its mean over turns is MRR (trec_eval's recip_rank)."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def reciprocal_rank(relevant: Collection[str], ranking: Sequence[str], k: int | None = None) -> float:
    """1 / rank of the first relevant id, 0 if there is none among the first ``k`` (None: no cut-off, the official MRR).

    >>> reciprocal_rank({"b"}, ["a", "b"])
    0.5
    >>> reciprocal_rank({"b"}, ["a", "b"], k=1)
    0.0
    """
    for rank, id in enumerate(ranking[:k], 1):
        if id in relevant:
            return 1 / rank
    return 0.0
