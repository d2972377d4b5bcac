"""Exact match and F1 of SQuAD 2 (Rajpurkar, Jia and Liang, ACL 2018; evaluate-v2.0.py), and MRQA 2019's of them."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

from convqa.metrics.overlap import multiset_scores

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalize(text: str) -> str:
    """Lower-case a text and remove ASCII punctuation (which joins words), articles and extra blanks.

    >>> normalize("The U.S. has vitamin-A")
    'us has vitamina'
    """
    words = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", words).split())


def exact_match(truth: str, model: str) -> float:
    """1 if both texts are equal after normalization, else 0.

    >>> exact_match("The Eiffel Tower, Paris.", "eiffel tower paris")
    1.0
    """
    return float(normalize(truth) == normalize(model))


def f1(truth: str, model: str) -> float:
    """Harmonic mean of token precision and recall, as multisets. If a text is empty, 1 if both are, else 0.

    >>> f1("the cat sat on the mat", "a cat on a mat today")
    0.75
    >>> f1("The.", "a")
    1.0
    """
    truth_tokens = normalize(truth).split()
    model_tokens = normalize(model).split()
    return multiset_scores(model_tokens, truth_tokens).f1


def best_exact_match(truths: Sequence[str], model: str) -> float:
    """MRQA's exact match (mrqa_official_eval.py): 1 if the answer equals an accepted one after normalization, else 0.

    >>> best_exact_match(["The Beatles", "Queen"], "beatles!")
    1.0

    :raises ValueError: without accepted answers, where the official script crashes.
    """
    return max(exact_match(truth, model) for truth in truths)


def best_f1(truths: Sequence[str], model: str) -> float:
    """MRQA's F1, the best over all accepted answers; 0 if no token is shared, even if both texts are empty.

    >>> best_f1(["cat sat", "the cat sat on a mat"], "a cat on the mat")
    0.8571428571428571
    >>> best_f1(["the"], "a")
    0.0

    :raises ValueError: without accepted answers, where the official script crashes.
    """
    best = max(f1(truth, model) for truth in truths)
    return best if normalize(model) else 0.0
