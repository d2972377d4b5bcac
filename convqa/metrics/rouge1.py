"""ROUGE-1 without stemming, as in Google's rouge_score and the official QReCC evaluator.

Its recall of the human rewrite is the official QR, and that of the true answer the official ROUGE1-R.
"""

from __future__ import annotations

import re

from convqa.metrics.overlap import PrecisionRecallF1, multiset_scores

_SEPARATORS = re.compile("[^a-z0-9]+")


def tokens(text: str) -> list[str]:
    """Return lower-case runs of a-z and 0-9.

    >>> tokens("What's Café U.S.A.?")
    ['what', 's', 'caf', 'u', 's', 'a']
    """
    return [token for token in _SEPARATORS.split(text.lower()) if token]


def rouge1(truth: str, model: str) -> PrecisionRecallF1:
    """Unigram overlap as multisets; 0 if a text has no tokens.

    >>> rouge1("the the the cat", "the cat cat")
    PrecisionRecallF1(precision=0.6666666666666666, recall=0.5, f1=0.5714285714285715)
    """
    truth_tokens = tokens(truth)
    model_tokens = tokens(model)
    if not truth_tokens or not model_tokens:
        return PrecisionRecallF1(0.0, 0.0, 0.0)
    return multiset_scores(model_tokens, truth_tokens)
