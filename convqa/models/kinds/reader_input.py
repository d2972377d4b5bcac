"""A question and a passage as windows of tokens: what a reader reads, in training and in use.

``[CLS] question [SEP] a window of the passage [SEP]``, with whatever special tokens the model's own tokenizer puts
around a pair. A question is cut at its beginning (what is asked stands at its end), a passage never: its windows
overlap, so that an answer of ordinary length is whole in one of them.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from convqa.files import replace_surrogates
from convqa.models.tokens import Tokens
from convqa.models.types import READER_TOKENS

if TYPE_CHECKING:
    from tokenizers import Tokenizer

LEAST_TOKENS = 16

OVERLAP = 128
"""Tokens that a window shares with the one before it, at most; half of a window at least are its own."""

MOST_QUESTION = 64

_MARKS = re.compile(r"\[(?:TLE|DOC|PAR)\]")
"""MRQA's marks of title, document and paragraph: structure, not text."""

_MARKS_OF_ONE = 30
"""Combining marks that a letter has at most (Unicode's Stream-Safe Text Format, UAX 15); longer runs cost too much."""

_PIECE = 40
"""Characters before the end of a question beyond which none of its last tokens begins."""


@dataclass(frozen=True, slots=True)
class PassageTokens:
    """A passage's tokens.

    ``offsets``: where each stands in the passage, half-open code points, without white space at its ends; empty for a
    token of white space alone. ``sections`` counts MRQA's marks before each token: no answer crosses one.
    """

    ids: list[int]
    offsets: list[tuple[int, int]]
    sections: list[int]


@dataclass(frozen=True, slots=True)
class Window:
    """A sequence, of which the tokens from ``at`` on are the passage's from ``first`` to ``last`` (exclusive)."""

    tokens: Tokens
    at: int
    first: int
    last: int


class ReaderInput:
    """Windows for a model, by its tokenizer. ``most``: tokens of a sequence, special ones counted.

    :raises ValueError: if the tokenizer makes no tokens of a pair of texts.
    """

    def __init__(self, tokenizer: Tokenizer, most: int = READER_TOKENS) -> None:
        self._tokenizer = tokenizer
        tokenizer.no_truncation()
        tokenizer.no_padding()
        # What looks like a special token in a text is text.
        tokenizer.encode_special_tokens = True
        probe = tokenizer.encode("a", "a")
        parts = probe.sequence_ids
        if not {0, 1} <= set(parts):
            raise ValueError("the tokenizer makes no tokens of a pair of texts")
        one, two = parts.index(0), parts.index(1)
        behind = len(parts) - parts[::-1].index(1)
        between = one + parts[one:two].count(0)
        self._before, self._between, self._after = probe.ids[:one], probe.ids[between:two], probe.ids[behind:]
        types = probe.type_ids
        self._types = types[0] if one else types[one], types[one], types[between:two], types[two], types[behind:]
        self._room = most - len(self._before) - len(self._between) - len(self._after)

    def question(self, text: str) -> list[int]:
        """The tokens of a question, its end if they are too many."""
        most = min(MOST_QUESTION, self._room // 2)
        # Long texts are cut before they are tokenised.
        end = replace_surrogates(text.rstrip()[-most * _PIECE :])
        ids: list[int] = self._tokenizer.encode(end, add_special_tokens=False).ids
        return ids[-most:]

    def passage(self, text: str) -> PassageTokens:
        """The tokens of a whole passage, without MRQA's marks."""
        marks = [match.start() for match in _MARKS.finditer(text)]
        seen = _MARKS.sub(lambda match: " " * len(match[0]), text) if marks else text
        encoding = self._tokenizer.encode(replace_surrogates(seen), add_special_tokens=False)
        offsets = _fitted(encoding.offsets, seen)
        sections = [bisect_right(marks, start) for start, _ in offsets] if marks else [0] * len(offsets)
        return PassageTokens(encoding.ids, offsets, sections)

    def windows(self, question: list[int], passage: PassageTokens) -> Iterator[Window]:
        """The sequences in which a model reads the whole passage; none for a passage without tokens."""
        room = self._room - len(question)
        overlap = min(OVERLAP, room // 2)
        opening, asking, middle, text, closing = self._types
        before = [*self._before, *question, *self._between]
        types = [*[opening] * len(self._before), *[asking] * len(question), *middle]
        for first in range(0, max(len(passage.ids) - overlap, min(len(passage.ids), 1)), room - overlap):
            some = passage.ids[first : first + room]
            tokens = Tokens([*before, *some, *self._after], [*types, *[text] * len(some), *closing])
            yield Window(tokens, len(before), first, first + len(some))


def _fitted(offsets: Sequence[tuple[int, int]], text: str) -> list[tuple[int, int]]:
    """The offsets without white space at their ends, and with whole letters: with the combining marks of their last
    one, whether no token has them or the next, and from the letter on that their first mark belongs to.

    >>> _fitted([(0, 4), (6, 7)], "cafe\\u0301 x"), _fitted([(0, 4), (4, 5)], "cafe\\u0301")
    ([(0, 5), (6, 7)], [(0, 5), (3, 5)])
    >>> _fitted([(0, 3), (3, 5)], " a \\tb")
    [(1, 2), (4, 5)]
    """
    fitted = []
    for start, end in offsets:
        while start < end and text[start].isspace():
            start += 1
        while start < end and text[end - 1].isspace():
            end -= 1
        fitted.append((start, end))
    return fitted if text.isascii() else [_whole(start, end, text) for start, end in fitted]


def _whole(start: int, end: int, text: str) -> tuple[int, int]:
    if start < end:
        first, last = max(0, start - _MARKS_OF_ONE), min(len(text), end + _MARKS_OF_ONE)
        while start > first and _is_mark(text[start]) and not text[start - 1].isspace():
            start -= 1
        while end < last and _is_mark(text[end]):
            end += 1
    return start, end


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")
