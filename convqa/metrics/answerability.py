"""Knowing when not to answer: refusals against what could not be answered, and how good the score behind them is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from convqa.metrics.citations import PrecisionRecallF1, set_scores


def refusals(refused: Sequence[bool], answerable: Sequence[bool]) -> PrecisionRecallF1:
    """Precision, recall and F1 of refusing, turn by turn: right is to refuse what is not answerable.

    Nobody refused and everything answerable: all 1. Only one of both: all 0 (``set_scores``).

    >>> refusals([True, True, False, False], [False, True, False, True])
    PrecisionRecallF1(precision=0.5, recall=0.5, f1=0.5)

    :raises ValueError: if the lengths differ.
    """
    pairs = list(zip(refused, answerable, strict=True))
    said = {str(turn) for turn, (no, _) in enumerate(pairs) if no}
    return set_scores(said, {str(turn) for turn, (_, can) in enumerate(pairs) if not can})


def auc(scores: Sequence[float], answerable: Sequence[bool]) -> float:
    """Area under the ROC curve: how often an answerable turn scores above one that is not, ties counted half.

    >>> auc([0.9, 0.4, 0.4, 0.1], [True, True, False, False])
    0.875

    :raises ValueError: if the lengths differ, or there are no turns of one kind.
    """
    positive = Counter(score for score, can in zip(scores, answerable, strict=True) if can)
    negative = Counter(score for score, can in zip(scores, answerable, strict=True) if not can)
    if not positive or not negative:
        raise ValueError("an AUC needs turns that are answerable and turns that are not")
    won, below = 0.0, 0
    for score in sorted(positive | negative):
        won += positive[score] * (below + negative[score] / 2)
        below += negative[score]
    return won / (positive.total() * negative.total())
