"""Exact match and F1 of MRQA 2019 (mrqa_official_eval.py), each the best over all accepted answers."""

from __future__ import annotations

from collections.abc import Sequence

from convqa.metrics import squad


def exact_match(truths: Sequence[str], model: str) -> float:
    """1 if the answer equals an accepted one after SQuAD's normalisation, else 0.

    >>> exact_match(["The Beatles", "Queen"], "beatles!")
    1.0

    :raises ValueError: without accepted answers, where the official script crashes.
    """
    return max(squad.exact_match(truth, model) for truth in truths)


def f1(truths: Sequence[str], model: str) -> float:
    """Harmonic mean of token precision and recall; 0 if no token is shared, even if both texts are empty.

    >>> f1(["cat sat", "the cat sat on a mat"], "a cat on the mat")
    0.8571428571428571
    >>> f1(["the"], "a")
    0.0

    :raises ValueError: without accepted answers, where the official script crashes.
    """
    return max(squad.f1(truth, model) if squad.normalise(model) else 0.0 for truth in truths)
