"""What the shipped condition check knows of what somebody tells and a yes/no question about them. English."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from convqa.models.kinds.encoder import TextEncoder
from convqa.text.english.lexicon import NEGATED_ANYWHERE
from convqa.text.sentences import sentences
from convqa.text.support import Overlap, overlap

FEATURES = (
    "nearest", "chosen", "share", "pairs", "numbers", "names", "whole share", "opposed", "negated", "negated share",
    "opposed share", "said", "compared", "comparable", "words", "sentences",
)  # fmt: skip
"""Of the sentence told that is most like the question: its cosine (``chosen``), its ``Overlap`` with the question, and
whether one of the two alone is ``negated``. ``nearest``: the best cosine of all sentences. ``said``: it begins with yes
(1) or no (-1). ``compared``: a number told is (1) or is not (-1) on the side of the question's number that "over",
"under" and the like want. ``words`` and ``sentences``: how much is asked and told."""

Pair = tuple[str, str]
"""What somebody tells, and a yes/no question about them."""

_SAID = re.compile(r"\s*(yes|no)\b", re.I)
_NUMBER = re.compile(r"\d(?:[\d,.]*\d)?")
_ABOVE = re.compile(
    r"\b(?:over|more than|at least|older|above|exceeds?|greater|minimum|or more|after|longer than)\b", re.I
)
_BELOW = re.compile(
    r"\b(?:under|less than|at most|younger|below|maximum|or less|before|up to|within|fewer|shorter)\b", re.I
)


def features(encoder: TextEncoder, pairs: Sequence[Pair]) -> NDArray[np.float64]:
    """An array (pairs, features), in order. A text that comes several times is encoded once."""
    told = {text: _sentences(text) for text, _ in pairs}
    wanted = list(dict.fromkeys([*(one for some in told.values() for one in some), *(asked for _, asked in pairs)]))
    # Like lengths follow each other, as models on torch want them.
    wanted.sort(key=len)
    vectors = dict(zip(wanted, encoder.encode(wanted), strict=True))
    rows = [_row(text, told[text], asked, vectors) for text, asked in pairs]
    return np.array(rows, dtype=np.float64).reshape(len(pairs), len(FEATURES))


def opposed(told: str, asked: str) -> bool:
    """Whether one of two texts alone has a negation anywhere.

    >>> opposed("I have no children.", "Do you have children?"), opposed("I live here.", "Do you live here?")
    (True, False)
    """
    return bool(NEGATED_ANYWHERE.search(told)) != bool(NEGATED_ANYWHERE.search(asked))


def plain(text: str) -> str:
    """A text without its negations.

    >>> plain("I don't live here.")
    'I do live here.'
    """
    return " ".join(NEGATED_ANYWHERE.sub(" ", text).split())


def compared(told: str, asked: str) -> int:
    """1 where a number told is on the side of the question's number that is wanted, -1 where it is not, else 0.

    >>> compared("I am 68.", "Over 60?"), compared("I am 68.", "Under 60?"), compared("I am old.", "Over 60?")
    (1, -1, 0)
    """
    limits, numbers = _numbers(asked), _numbers(told)
    above, below = bool(_ABOVE.search(asked)), bool(_BELOW.search(asked))
    if len(limits) != 1 or not numbers or above == below:
        return 0
    near = min(numbers, key=lambda one: abs(one - limits[0]))
    return 1 if (near >= limits[0]) == above else -1


def _row(text: str, told: Sequence[str], asked: str, vectors: dict[str, NDArray[np.float32]]) -> list[float]:
    cosines = [float(vectors[one] @ vectors[asked]) for one in told]
    overlaps = [overlap(one, asked) for one in told]
    best = max(range(len(told)), key=lambda at: cosines[at] + overlaps[at].share)
    found: Overlap = overlaps[best]
    negated, against = float(opposed(told[best], asked)), float(found.opposed)
    said = _SAID.match(text)
    side = compared(text, asked)
    return [
        max(cosines), cosines[best], found.share, found.pairs, found.numbers, found.names, overlap(text, asked).share,
        against, negated, negated * found.share, against * found.share,
        0.0 if said is None else 1.0 if said[1].lower() == "yes" else -1.0,
        float(side), float(abs(side)), len(asked.split()) / 10, min(len(told), 6) / 5,
    ]  # fmt: skip


def _sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)] or [text]


def _numbers(text: str) -> list[float]:
    found = (one.replace(",", "") for one in _NUMBER.findall(text))
    return [float(one) for one in found if one.count(".") < 2]
