"""What speaks for a sentence, as the share of its words that a right answer is expected to have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

_TENTH = 10


class Evidence(NamedTuple):
    """What speaks for a sentence.

    ``words``: its lexical score (``convqa.components.readers._sentence_scoring``). ``behind``: how far its passage is
    behind the first (see the function). ``cosine``: of its vector, with the title of its passage, and the question's;
    None where there is none.
    """

    words: float
    behind: float
    cosine: float | None = None


class Curve(NamedTuple):
    """A logistic of the evidence: each of its parts times its weight here, and the offset."""

    offset: float
    words: float
    behind: float = 0.0
    cosine: float = 0.0

    def __call__(self, evidence: Evidence) -> float:
        """0 to 1.

        >>> round(Curve(offset=-1.0, words=0.5, behind=-1.0)(Evidence(words=2.0, behind=0.0)), 3)
        0.5
        """
        logit = self.offset + self.words * evidence.words + self.behind * evidence.behind
        return 1 / (1 + math.exp(-logit - self.cosine * (evidence.cosine or 0.0)))


BY_WORDS = Curve(offset=-1.74, words=0.91)
BY_BOTH = Curve(offset=-1.34, words=0.59, behind=-0.78, cosine=0.40)
"""Fitted on the conversations of even number of inscit_dev and mtrag_un: benchmarks/sentence_curves.py. Words alone do
not look at the ranking's scores: those of BM25, which count the same words, mislead (docs/reading.md)."""


def behind(scores: Sequence[float]) -> list[float]:
    """How far hits are behind the first, as a share of the distance from it to the tenth: 0 to 1, on any scale.

    Of fewer than ten hits the last counts by its rank: that one of two is the last says little.

    >>> behind([9.0, 8.0])
    [0.0, 0.1111111111111111]
    >>> behind([1.0] * 3)
    [0.0, 0.0, 0.0]
    """
    last = min(len(scores), _TENTH) - 1
    width = scores[0] - scores[last] if scores else 0.0
    part = last / (_TENTH - 1)
    return [min(1.0, part * (scores[0] - score) / width) if width > 0 else 0.0 for score in scores]


def expected(evidence: Evidence) -> float:
    """By words and vectors where there is a cosine, else by words alone."""
    return BY_WORDS(evidence) if evidence.cosine is None else BY_BOTH(evidence)
