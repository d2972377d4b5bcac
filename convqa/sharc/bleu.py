"""Corpus BLEU with +1 smoothing of every order, as ShARC's evaluators compute it (vzhong/e3: evaluator.py).

Papineni et al., ACL 2002; smoothing after Lin and Och, COLING 2004, applied to the first order, too.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

ORDER = 4
"""Maximum length of n-grams."""
COLUMNS = 2 * ORDER + 2


def bleu_counts(reference: Sequence[str], hypothesis: Sequence[str]) -> tuple[int, ...]:
    """Return a pair's ``COLUMNS`` counts, whose sums over the pairs of a corpus give its BLEU.

    They are the hypothesis's n-grams in the reference, and all its n-grams, for lengths 1 to ``ORDER``; its words; and
    the reference's words.

    >>> bleu_counts("do you live in cyprus ?".split(), "do you live in france ?".split())
    (5, 3, 2, 1, 6, 5, 4, 3, 6, 6)
    """
    matches = []
    possible = []
    for order in range(1, ORDER + 1):
        ngrams = _ngrams(hypothesis, order)
        matches.append((ngrams & _ngrams(reference, order)).total())
        possible.append(ngrams.total())
    return (*matches, *possible, len(hypothesis), len(reference))


def bleu(counts: Sequence[float], order: int) -> float | None:
    """BLEU of n-grams of 1 to ``order`` words, from 0 to 1, from the summed counts of a corpus.

    None where the script divides by zero, because all hypotheses or all references are empty.

    >>> round(bleu((5, 3, 2, 1, 6, 5, 4, 3, 6, 6), 4), 4)
    0.6435
    """
    *_, length, reference_length = counts
    if not length or not reference_length:
        return None
    logs = 0.0
    for n in range(order):
        precision = (counts[n] + 1) / (counts[ORDER + n] + 1)
        logs += (1 / order) * math.log(precision)
    ratio = length / reference_length
    brevity = 1.0 if ratio > 1 else math.exp(1 - 1 / ratio)
    return math.exp(logs) * brevity


def _ngrams(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[start : start + order]) for start in range(len(words) - order + 1))
