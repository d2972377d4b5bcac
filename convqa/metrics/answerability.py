"""Measures of refusing to answer: precision, recall and F1 of refusals, and the AUC of the scores behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from convqa.metrics.citations import PrecisionRecallF1, set_scores


def refusals(refused: Sequence[bool], answerable: Sequence[bool]) -> PrecisionRecallF1:
    """Precision, recall and F1 of refusing unanswerable turns.

    All are 1 if nothing is refused and everything is answerable, and 0 if only one of both holds (``set_scores``).

    >>> refusals([True, True, False, False], [False, True, False, True])
    PrecisionRecallF1(precision=0.5, recall=0.5, f1=0.5)

    :raises ValueError: if the lengths differ.
    """
    turns = [(str(turn), *pair) for turn, pair in enumerate(zip(refused, answerable, strict=True))]
    refused_turns = {turn for turn, refusal, _ in turns if refusal}
    unanswerable_turns = {turn for turn, _, can_be_answered in turns if not can_be_answered}
    return set_scores(refused_turns, unanswerable_turns)


def auc(scores: Sequence[float], answerable: Sequence[bool]) -> float:
    """Area under the ROC curve: how often an answerable turn scores above an unanswerable one; ties count half.

    >>> auc([0.9, 0.4, 0.4, 0.1], [True, True, False, False])
    0.875

    :raises ValueError: if the lengths differ.
    """
    positive = Counter(score for score, can in zip(scores, answerable, strict=True) if can)
    negative = Counter(score for score, can in zip(scores, answerable, strict=True) if not can)
    won = 0.0
    below = 0
    for score in sorted(positive | negative):
        won += positive[score] * (below + negative[score] / 2)
        below += negative[score]
    return won / (positive.total() * negative.total())
