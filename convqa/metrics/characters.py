"""Texts compared character by character, for languages that write no blanks between words.

White space is left out, and both sides are composed (NFC), so that neither line breaks nor how a mark is encoded count.
"""

from __future__ import annotations

import unicodedata
from collections import Counter

from convqa.metrics.citations import PrecisionRecallF1


def characters(text: str) -> str:
    """The text as it is compared: in NFC, without white space.

    >>> characters("か\\u3099っこう に\\n行く。")
    'がっこうに行く。'
    """
    return "".join(unicodedata.normalize("NFC", text).split())


def rouge_l(prediction: str, truth: str) -> PrecisionRecallF1:
    """ROUGE-L over characters (Lin, ACL 2004, with beta 1): the longest common subsequence against each length.

    Without characters on a side: all 1 if both have none, else all 0.

    >>> rouge_l("京都に行く", "東京に行った")
    PrecisionRecallF1(precision=0.6, recall=0.5, f1=0.5454545454545454)
    """
    said, wanted = characters(prediction), characters(truth)
    if not said or not wanted:
        same = float(said == wanted)
        return PrecisionRecallF1(same, same, same)
    common = _common_subsequence(said, wanted)
    return PrecisionRecallF1.of(common / len(said), common / len(wanted))


def f1(prediction: str, truth: str) -> float:
    """Harmonic mean of character precision and recall, counted with repeats and whatever their order.

    Without characters on a side: whether both have none.

    >>> f1("行く京都", "京都に行く。")
    0.8
    """
    said, wanted = Counter(characters(prediction)), Counter(characters(truth))
    if not said or not wanted:
        return float(said == wanted)
    shared = (said & wanted).total()
    return PrecisionRecallF1.of(shared / said.total(), shared / wanted.total()).f1


def _common_subsequence(one: str, two: str) -> int:
    """Length of the longest common subsequence, a whole row at a time in the bits of one number (Hyyrö, 2004)."""
    places: dict[str, int] = {}
    for place, sign in enumerate(one):
        places[sign] = places.get(sign, 0) | 1 << place
    every = (1 << len(one)) - 1
    row = every
    for sign in two:
        hit = row & places.get(sign, 0)
        row = ((row + hit) | (row - hit)) & every
    return len(one) - row.bit_count()
