"""Precision, recall and F1 of what two sets or multisets share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple


class PrecisionRecallF1(NamedTuple):
    """Precision, recall and F1, from 0 to 1."""

    precision: float
    recall: float
    f1: float

    @classmethod
    def of(
        cls,
        precision: float,
        recall: float,
    ) -> PrecisionRecallF1:
        """Add the harmonic mean, 0 if both are 0."""
        total = precision + recall
        return cls(precision, recall, 2 * precision * recall / total if total else 0.0)


def multiset_scores(predicted: Iterable[str], gold: Iterable[str]) -> PrecisionRecallF1:
    """Precision, recall and F1 of a multiset. All are 1 if both are empty, and 0 if one is.

    >>> multiset_scores(["a", "a", "b"], ["a", "a", "a", "c"])
    PrecisionRecallF1(precision=0.6666666666666666, recall=0.5, f1=0.5714285714285715)
    """
    predicted_counts = Counter(predicted)
    gold_counts = Counter(gold)
    if not predicted_counts or not gold_counts:
        same = float(predicted_counts == gold_counts)
        return PrecisionRecallF1(same, same, same)
    shared = (predicted_counts & gold_counts).total()
    return PrecisionRecallF1.of(
        shared / predicted_counts.total(),
        shared / gold_counts.total(),
    )


def set_scores(predicted: Iterable[str], gold: Iterable[str]) -> PrecisionRecallF1:
    """Precision, recall and F1 of a set. All are 1 if both sets are empty, and 0 if one is.

    >>> set_scores({"a", "b"}, {"a", "c", "d"})
    PrecisionRecallF1(precision=0.5, recall=0.3333333333333333, f1=0.4)
    >>> set_scores([], [])
    PrecisionRecallF1(precision=1.0, recall=1.0, f1=1.0)
    """
    return multiset_scores(set(predicted), set(gold))
