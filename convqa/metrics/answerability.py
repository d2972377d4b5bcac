"""The AUC of the scores behind refusals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def auc(answerable: Sequence[float], unanswerable: Sequence[float]) -> float:
    """Area under the ROC curve: how often an answerable turn scores above an unanswerable one; ties count half.

    >>> auc([0.9, 0.4], [0.4, 0.1])
    0.875
    """
    positive = Counter(answerable)
    negative = Counter(unanswerable)
    won = 0.0
    below = 0
    for score in sorted(positive | negative):
        won += positive[score] * (below + negative[score] / 2)
        below += negative[score]
    return won / (positive.total() * negative.total())
