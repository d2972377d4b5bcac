"""The AUC of the scores behind refusals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def auc(scores: Sequence[float], answerable: Sequence[bool]) -> float:
    """Area under the ROC curve: how often an answerable turn scores above an unanswerable one; ties count half.

    >>> auc([0.9, 0.4, 0.4, 0.1], [True, True, False, False])
    0.875

    :raises ValueError: if the lengths differ.
    """
    positive: Counter[float] = Counter()
    negative: Counter[float] = Counter()
    for score, can in zip(scores, answerable, strict=True):
        counts = positive if can else negative
        counts[score] += 1
    won = 0.0
    below = 0
    for score in sorted(positive | negative):
        won += positive[score] * (below + negative[score] / 2)
        below += negative[score]
    return won / (positive.total() * negative.total())
