"""sentencex without its panics, and in time that grows with the text."""

from __future__ import annotations

import re
from itertools import pairwise

import sentencex

BLOCK = 4000
"""Characters that sentencex sees at once. It looks back to the last blank at every full stop, and ahead from every
quotation mark to the one that closes it: where there is none, its time grows with the square of the text, as it does
in Japanese and Chinese. Passages of open collections are hardly ever longer."""

AHEAD = 1000
"""Characters behind the last boundary that is believed in a block, so that what follows it has been seen."""

# sentencex takes the blank between a capital letter and a full stop to be one byte long, and panics inside others.
_WIDE_BLANK = re.compile(r"[^\S\x00-\x7f]")
_STOP = re.compile(r"[.!?…]\s|[\u3002\uff01\uff1f]")


def boundaries(text: str, language: str) -> list[tuple[int, int]]:
    """sentencex's sentences as offsets in code points: one behind the other, from the text's beginning to its end.

    A text of at most ``BLOCK`` characters is seen as a whole. A longer one is cut where a sentence was found to end;
    a sentence longer than a block is still one.

    >>> boundaries("Rich in vitamin C\\u00a0. They grow.", "en")
    [(0, 20), (20, 30)]
    """
    # The library speaks UTF-8; a lone surrogate becomes one "?", and a blank one blank, so that offsets stay.
    speakable = _WIDE_BLANK.sub(" ", text.encode("utf-8", "replace").decode("utf-8"))
    places = [0]
    start = 0
    while len(text) - start > BLOCK:
        ends = [end for end in _ends(speakable[start : start + BLOCK], language) if end <= BLOCK - AHEAD]
        places += [start + end for end in ends]
        start += ends[-1] if ends else BLOCK - AHEAD
    places += [start + end for end in _ends(speakable[start:], language)]
    return list(pairwise(places))


def _ends(block: str, language: str) -> list[int]:
    """Where sentences end, the block's own end among them; never empty ones."""
    try:
        return [found["end_index"] for found in sentencex.get_sentence_boundaries(language, block)]
    except BaseException as error:
        # What a panic in Rust becomes: no Exception, and importable from nowhere.
        if type(error).__name__ != "PanicException":
            raise
        return sorted({*(stop.end() for stop in _STOP.finditer(block)), len(block)} - {0})
