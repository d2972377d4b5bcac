"""Sentences of a text, as offsets.

The boundaries are sentencex's (Wikimedia, MIT). Two things are added, because the passages of open collections are
raw web text: lines of lists and menus are sentences of their own, and what is longer than a person would read as one
sentence (whole quoted paragraphs, menus without a full stop) is cut. What sentencex cuts wrongly in Japanese is put
together again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import sentencex

from convqa.text.cache import remembered
from convqa.text.japanese import joined

LONGEST = 400
"""Characters of a sentence. In the passages of six real collections 0.2 to 4 % of sentencex's are longer."""

# A line ends a sentence, unless the next line goes on in lower case, or the text is wrapped at a width: then the
# line is long and has no closing mark. Repetitions are bounded: runs of a million blanks occur, and must cost nothing.
_LINE = re.compile(
    r"(?:(?<=[.!?:;])[^\S\n]{0,8}|(?<![^\n]{60}))\n(?=\s{0,20}[^\s a-zß-ÿа-я])"
    r"|\n(?=\s{0,20}(?:[*•#|]|[\u2013-]\s|\d{1,3}[.)]\s))"
)
# A Japanese character is as wide as two Latin letters, and a line that ends with a comma goes on.
_LINE_JA = re.compile(
    r"(?:(?<=[.!?:;\u3002\uff01\uff1f\uff1a])[^\S\n]{0,8}|(?<![^\n]{30})(?<![\u3001\uff0c]))"
    r"\n(?=\s{0,20}[^\s\u3001\u3002\uff0c\uff0e\u300d\u300f\uff09])"
    r"|\n(?=\s{0,20}(?:[*•#|\u30fb]|[\u2013-]\s|\d{1,3}[.)]\s))"
)
_STRONG = re.compile(
    r"(?<=[.!?…;])[\"'\u201d\u2019)\]]{0,4}\s{1,8}(?=[^\sa-z])|\s{1,8}[|•·»]\s|\.{3}\s"
    r"|(?<=[\u3002\uff01\uff1f])[\u300d\u300f\uff09]{0,4}"
)
_BLANK = re.compile(r"\s|(?<=[\u3001\u3002\uff0c\uff01\uff1f\u300d\u300f\uff09])")

BLOCK = 4000
"""Characters that sentencex sees at once. It looks back to the last blank at every full stop, and ahead from every
quotation mark to the one that closes it: where there is none, its time grows with the square of the text, as it does
in Japanese and Chinese. Passages of open collections are hardly ever longer."""

AHEAD = 1000
"""Characters behind the last boundary that is believed in a block, so that what follows it has been seen."""

# sentencex takes the blank between a capital letter and a full stop to be one byte long, and panics inside others.
_WIDE_BLANK = re.compile(r"[^\S\x00-\x7f]")
_STOP = re.compile(r"[.!?…]\s|[\u3002\uff01\uff1f]")


def sentences(text: str, language: str = "en") -> list[tuple[int, int]]:
    """Sentences as offsets ``[start, end)`` in code points: in order, apart, trimmed of white space, never empty.

    >>> text = "It is Dr. Smith! 👍 He lives   here.\\n"
    >>> [text[start:end] for start, end in sentences(text)]
    ['It is Dr. Smith!', '👍 He lives   here.']
    """
    return list(_sentences(text, language))


def whole_sentences(text: str, start: int, end: int, language: str) -> tuple[int, int]:
    """Characters ``[start, end)``, grown to the sentences that they are part of."""
    touched = [place for place in sentences(text, language) if place[0] < end and place[1] > start]
    return min([start, *(first for first, _ in touched)]), max([end, *(last for _, last in touched)])


@remembered(512)
def _sentences(text: str, language: str) -> tuple[tuple[int, int], ...]:
    found: list[tuple[int, int]] = []
    whole = boundaries(text, language)
    for begin, stop in joined(text, whole) if language == "ja" else whole:
        for start, end in _parts(text, begin, stop, language):
            piece = text[start:end]
            left = start + len(piece) - len(piece.lstrip())
            right = start + len(piece.rstrip())
            if left < right:
                found.append((left, right))
    return tuple(found)


def _parts(text: str, start: int, end: int, language: str) -> Iterator[tuple[int, int]]:
    lines = _LINE_JA if language == "ja" else _LINE
    for line in _split(lines, text, start, end) if text.find("\n", start, end) >= 0 else ((start, end),):
        if line[1] - line[0] <= LONGEST:
            yield line
            continue
        for part in _split(_STRONG, text, *line):
            yield from _cut(text, *part)


def _split(mark: re.Pattern[str], text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for found in mark.finditer(text, start, end):
        yield start, found.end()
        start = found.end()
    yield start, end


def _cut(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut at the last white space that keeps a part short enough; where there is none, anywhere."""
    while end - start > LONGEST:
        blanks = [found.end() for found in _BLANK.finditer(text, start + LONGEST // 2, start + LONGEST)]
        middle = blanks[-1] if blanks else start + LONGEST
        yield start, middle
        start = middle
    yield start, end


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
