"""Measures of characters, for languages without blanks between words.

White space is removed and both texts are composed (NFC), so that neither line breaks nor encodings matter.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection
from difflib import SequenceMatcher

from convqa.metrics.overlap import PrecisionRecallF1, multiset_scores


def characters(text: str) -> str:
    """Normalize a text for comparison: NFC, without white space.

    >>> characters("か\\u3099っこう に\\n行く。")
    'がっこうに行く。'
    """
    return "".join(unicodedata.normalize("NFC", text).split())


def rouge_l(prediction: str, truth: str) -> PrecisionRecallF1:
    """ROUGE-L over characters (Lin, ACL 2004, with beta 1): the longest common subsequence divided by each length.

    All are 1 if both texts are empty, and 0 if one is.

    >>> rouge_l("京都に行く", "東京に行った")
    PrecisionRecallF1(precision=0.6, recall=0.5, f1=0.5454545454545454)
    """
    predicted = characters(prediction)
    gold = characters(truth)
    if not predicted or not gold:
        same = float(predicted == gold)
        return PrecisionRecallF1(same, same, same)
    common = _common_subsequence(predicted, gold)
    return PrecisionRecallF1.of(common / len(predicted), common / len(gold))


def f1(prediction: str, truth: str) -> float:
    """Harmonic mean of character precision and recall, as multisets. If a text is empty, 1 if both are, else 0.

    >>> f1("行く京都", "京都に行く。")
    0.8
    """
    return multiset_scores(characters(prediction), characters(truth)).f1


def overlap(quote: str, gold: str) -> float:
    """Longest common span of characters as a share of the gold quote, without white space.

    If the gold quote is empty, 1 if the other is, too, else 0.

    >>> overlap("首都は東京である。", "日本の首都は東京。")
    0.5555555555555556
    """
    quote, gold = characters(quote), characters(gold)
    if not gold:
        return float(not quote)
    matcher = SequenceMatcher(None, quote, gold, autojunk=False)
    return matcher.find_longest_match().size / len(gold)


def quote_recall(quotes: Collection[str], gold: Collection[str]) -> float:
    """Mean over the gold quotes of their largest overlap with a quote; 0 without quotes.

    >>> quote_recall(["abcd", "xy"], ["abcdefgh", "xy"])
    0.75
    """
    if not quotes:
        return 0.0
    largest = [max(overlap(quote, text) for quote in quotes) for text in gold]
    return sum(largest) / len(largest)


def _common_subsequence(first: str, second: str) -> int:
    """Return the length of the longest common subsequence; a row is the bits of an integer (Hyyrö, 2004)."""
    masks: Counter[str] = Counter()
    for index, character in enumerate(first):
        masks[character] |= 1 << index
    all_bits = (1 << len(first)) - 1
    row = all_bits
    for character in second:
        hit = row & masks[character]
        row = (row + hit) | (row - hit)
        row &= all_bits
    return len(first) - row.bit_count()
