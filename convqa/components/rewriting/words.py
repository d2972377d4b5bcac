"""Words of a text with their places, and lists of words."""

from __future__ import annotations

from collections.abc import Iterator

from convqa.text.analysis import analyzer


def listed(words: str) -> frozenset[str]:
    """Words written with blanks between them, as a set."""
    return frozenset(words.split())


def placed(text: str, language: str) -> Iterator[tuple[str, int]]:
    """Each word of the analysis, in lower case, with the offset where it is written in the text.

    >>> list(placed("Ada's Engine", "en"))
    [('ada', 0), ('engine', 6)]
    """
    # The dotted capital I is the one character whose lower case in Python is longer than itself.
    lowered = text.replace("\u0130", "i").lower()
    start = 0
    for word in analyzer(language).words(text):
        start = lowered.index(word, start)
        yield word, start
        start += len(word)
