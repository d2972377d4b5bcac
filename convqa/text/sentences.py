"""Split text into sentences, given as offsets.

sentencex (Wikimedia, MIT) finds the boundaries. Because open collections hold raw web text, lines of lists and menus
become sentences of their own, and overlong sentences (quoted paragraphs, menus without a full stop) are cut. Wrong
boundaries of Japanese, and those after German ordinal numbers, are corrected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise

import sentencex

from convqa.text.german import ORDINAL
from convqa.text.japanese import joined
from convqa.text.words import Offsets, cut

MAX_SENTENCE_CHARS = 400
"""Maximum length of a sentence. In six real collections, sentencex finds 0.2 to 4 % longer ones."""

# A newline ends a sentence unless the next line continues in lower case, or the text is wrapped: then the line is long
# and lacks a closing mark. Repetitions are bounded so that runs of a million blanks stay cheap.
_LINE = re.compile(
    r"(?:(?<=[.!?:;])[^\S\n]{0,8}|(?<![^\n]{60}))\n(?=\s{0,20}[^\s a-zß-ÿа-я])"
    r"|\n(?=\s{0,20}(?:[*•#|]|[\u2013-]\s|\d{1,3}[.)]\s))"
)
# A Japanese character is as wide as two Latin letters, and a line that ends in a comma continues.
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

BLOCK_CHARS = 4000
"""Maximum length of a text per call of sentencex. It looks back to the last blank at every full stop and ahead to the
closing mark at every quotation mark, which takes quadratic time where there is none, as in Japanese and Chinese.
Passages of open collections are rarely longer."""

_CONTEXT_CHARS = 1000
"""Length of the context that a block must have after a boundary for the boundary to be trusted."""

# sentencex assumes that a blank between a capital letter and a full stop is one byte long, and panics otherwise.
_WIDE_BLANK = re.compile(r"[^\S\x00-\x7f]")


def sentences(text: str, language: str = "en") -> list[Offsets]:
    """Return sentences as offsets ``[start, end)`` in code points: ordered, disjoint, trimmed and never empty.

    >>> text = "It is Dr. Smith! 👍 He lives   here.\\n"
    >>> [text[start:end] for start, end in sentences(text)]
    ['It is Dr. Smith!', '👍 He lives   here.']
    """
    return list(_sentences(text, language))


def whole_sentences(
    text: str,
    start: int,
    end: int,
    language: str,
) -> Offsets:
    """Extend the characters ``[start, end)`` to whole sentences."""
    touched = [span for span in sentences(text, language) if span[0] < end and span[1] > start] or [(start, end)]
    return min(start, touched[0][0]), max(end, touched[-1][1])


@lru_cache(512)
def _sentences(text: str, language: str) -> tuple[Offsets, ...]:
    whole = boundaries(text, language)
    if language == "ja":
        whole = joined(text, whole)
    spans: list[Offsets] = []
    for begin, stop in whole:
        for start, end in _parts(text, begin, stop, language):
            piece = text[start:end]
            left = start + len(piece) - len(piece.lstrip())
            right = start + len(piece.rstrip())
            if left < right:
                spans.append((left, right))
    return tuple(spans)


def _parts(
    text: str,
    start: int,
    end: int,
    language: str,
) -> Iterator[Offsets]:
    line_end = _LINE_JA if language == "ja" else _LINE
    lines: Iterable[Offsets] = [(start, end)]
    if "\n" in text[start:end]:
        lines = _split(line_end, text, start, end)
    for first, last in lines:
        if last - first <= MAX_SENTENCE_CHARS:
            yield first, last
            continue
        for begin, stop in _split(_STRONG, text, first, last):
            yield from cut(text, begin, stop, MAX_SENTENCE_CHARS, _BLANK)


def _split(
    mark: re.Pattern[str],
    text: str,
    start: int,
    end: int,
) -> Iterator[Offsets]:
    for match in mark.finditer(text, start, end):
        yield start, match.end()
        start = match.end()
    yield start, end


def boundaries(text: str, language: str) -> list[Offsets]:
    """Return sentencex's sentences as offsets in code points, which cover the text without gaps.

    A text longer than ``BLOCK_CHARS`` is processed in blocks that end at a sentence. Sentences may be longer.

    >>> boundaries("Rich in vitamin C\\u00a0. They grow.", "en")
    [(0, 20), (20, 30)]
    """
    # The library needs UTF-8. Lone surrogates become "?" and wide blanks a space, so that offsets stay valid.
    encodable = _WIDE_BLANK.sub(" ", text.encode("utf-8", "replace").decode("utf-8"))
    max_trusted = BLOCK_CHARS - _CONTEXT_CHARS
    ends = [0]
    start = 0
    while len(text) - start > BLOCK_CHARS:
        block = encodable[start : start + BLOCK_CHARS]
        trusted = [end for end in _ends(block, language) if end <= max_trusted]
        ends += [start + end for end in trusted]
        start += trusted[-1] if trusted else max_trusted
    ends += [start + end for end in _ends(encodable[start:], language)]
    return list(pairwise(ends))


def _ends(block: str, language: str) -> list[int]:
    """Return where sentences end, including the end of the block."""
    ends = [boundary["end_index"] for boundary in sentencex.get_sentence_boundaries(language, block)]
    if language == "de":
        inside = {match.end() for match in ORDINAL.finditer(block)} - {len(block)}
        ends = [end for end in ends if end not in inside]
    return ends
