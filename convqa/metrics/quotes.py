"""Character recall of gold quotes."""

from __future__ import annotations

from collections.abc import Collection
from difflib import SequenceMatcher

from convqa.metrics.characters import characters


def overlap(quote: str, gold: str) -> float:
    """Longest common span of characters as a share of the gold quote, without white space.

    If the gold quote is empty, 1 if the other is, too, else 0.

    >>> overlap("首都は東京である。", "日本の首都は東京。")
    0.5555555555555556
    """
    quote, gold = characters(quote), characters(gold)
    if not gold:
        return float(not quote)
    return SequenceMatcher(None, quote, gold, autojunk=False).find_longest_match().size / len(gold)


def quote_recall(quotes: Collection[str], gold: Collection[str]) -> float:
    """Mean over the gold quotes of their largest overlap with a quote; 0 without quotes.

    >>> quote_recall(["abcd", "xy"], ["abcdefgh", "xy"])
    0.75

    :raises ValueError: without gold quotes.
    """
    if not gold:
        raise ValueError("quote recall needs at least one gold quote")
    return sum(max((overlap(quote, text) for quote in quotes), default=0.0) for text in gold) / len(gold)
