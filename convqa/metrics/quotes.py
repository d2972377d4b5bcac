"""Recall of the gold quotes' characters."""

from __future__ import annotations

from collections.abc import Collection
from difflib import SequenceMatcher

from convqa.metrics.characters import characters


def overlap(quote: str, gold: str) -> float:
    """The longest span of characters that both have, as a share of the gold quote; white space is left out.

    A gold quote without characters has no share: 1 if the other has none either, else 0.

    >>> overlap("首都は東京である。", "日本の首都は東京。")
    0.5555555555555556
    """
    said, wanted = characters(quote), characters(gold)
    if not wanted:
        return float(not said)
    return SequenceMatcher(None, said, wanted, autojunk=False).find_longest_match().size / len(wanted)


def quote_recall(quotes: Collection[str], gold: Collection[str]) -> float:
    """Mean over the gold quotes of the largest overlap that a quote has with each; 0 without quotes.

    >>> quote_recall(["abcd", "xy"], ["abcdefgh", "xy"])
    0.75

    :raises ValueError: without gold quotes.
    """
    if not gold:
        raise ValueError("a recall of quotes needs at least one gold quote")
    return sum(max((overlap(quote, one) for quote in quotes), default=0.0) for one in gold) / len(gold)
