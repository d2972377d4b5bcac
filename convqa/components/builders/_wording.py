"""How far a passage has a sentence's words, in any language."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from convqa.errors import InputError
from convqa.text.support import CAP, lexical_support
from convqa.text.words import words

_POWER = 1.5
"""share -> score, as in ``convqa.text.support``: so that 63 % are enough."""


def worded(pairs: Sequence[tuple[str, str]], language: str) -> list[float]:
    """``lexical_support`` of (evidence, sentence) pairs; in a language without an analysis by words as they stand.

    There nothing is known of stems, stop words, negations or rare words. Each word counts its letters, as frequent
    words are short in every language (Zipf); of signs that are words (ideographs) each two in a row count. A number
    that the evidence lacks caps the score.

    >>> evidence = "Goethe a écrit Faust à Weimar."
    >>> worded([(evidence, "Goethe écrit Faust."), (evidence, "Goethe est né.")], "fr")  # doctest: +ELLIPSIS
    [1.0, 0.40...]
    """
    try:
        return [lexical_support(evidence, sentence, language) for evidence, sentence in pairs]
    except InputError:
        return [_shared(evidence, sentence) for evidence, sentence in pairs]


def _shared(evidence: str, sentence: str) -> float:
    there, said = set(_units(evidence)), set(_units(sentence))
    total = sum(map(len, said))
    if not total:
        return 0.0
    score: float = (sum(map(len, said & there)) / total) ** _POWER
    numbers = {unit for unit in said if unit[0].isdecimal()}
    return score if numbers <= there else min(score, CAP)


def _units(text: str) -> Iterator[str]:
    """The words of a text; of ideographs each two in a row, or one alone."""
    run = ""
    for word in [*words(unicodedata.normalize("NFKC", text)), ""]:
        if len(word) == 1 and not word.isascii():
            run += word
            continue
        yield from (run[place : place + 2] for place in range(max(1, len(run) - 1)) if run)
        run = ""
        if word:
            yield word
