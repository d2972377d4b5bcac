"""Words of a text with their places, lists of words, and the script they are in."""

from __future__ import annotations

from collections.abc import Iterator

from convqa.text.analysis import analyzer

_LATIN_ENDS = "\u0250"


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


def latin(text: str) -> bool:
    """Whether most letters of a text are Latin ones; a text without letters is in every script.

    >>> latin("Wo wurde er geboren?"), latin("1808?"), latin("\u4ed6\u5728\u54ea\u91cc")
    (True, True, False)
    """
    letters = [sign for sign in text if sign.isalpha()]
    return not letters or 2 * sum(sign < _LATIN_ENDS for sign in letters) > len(letters)
