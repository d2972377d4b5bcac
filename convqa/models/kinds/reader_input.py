"""Lay out a question and a passage as windows of tokens, the input of readers in training and inference.

A window is ``[CLS] question [SEP] part of the passage [SEP]``, with the special tokens of the model's own tokenizer. A
long question loses its beginning, because the end asks. A passage is never truncated: its windows overlap, so that an
answer of ordinary length is whole in one of them.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from convqa.files import replace_surrogates
from convqa.models.types import READER_TOKENS, TokenSequence

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MIN_TOKENS = 16

OVERLAP = 128
"""Maximum tokens that a window shares with the previous one; at least half of its tokens are new."""

MAX_QUESTION_TOKENS = 64

_MARKS = re.compile(r"\[(?:TLE|DOC|PAR)\]")
"""MRQA's marks of titles, documents and paragraphs."""

_MAX_COMBINING_MARKS = 30
"""Maximum combining marks of a letter (Unicode's Stream-Safe Text Format, UAX 15), which keeps long runs cheap."""

_MAX_TOKEN_CHARS = 40
"""Maximum characters per token, to truncate long questions before they are tokenized."""


@dataclass(frozen=True, slots=True)
class PassageTokens:
    """A passage's tokens.

    ``offsets``: half-open code points of each token without surrounding white space, empty for a white space token.
    ``sections``: the number of MRQA's marks before each token, which no answer crosses.
    """

    ids: list[int]
    offsets: list[tuple[int, int]]
    sections: list[int]


@dataclass(frozen=True, slots=True)
class Window:
    """A sequence; its tokens from ``at`` on are the passage's tokens ``[first, last)``."""

    tokens: TokenSequence
    at: int
    first: int
    last: int


class ReaderInput:
    """Makes windows with a model's tokenizer. ``most``: maximum tokens of a sequence, including special tokens."""

    def __init__(self, tokenizer: Tokenizer, most: int = READER_TOKENS) -> None:
        self._tokenizer = tokenizer
        tokenizer.no_truncation()
        tokenizer.no_padding()
        # A special token in a text is plain text.
        tokenizer.encode_special_tokens = True
        probe = tokenizer.encode("a", "a")
        sides = probe.sequence_ids
        first = sides.index(0)
        between = first + sides.count(0)
        second = sides.index(1)
        after = second + sides.count(1)
        self._before = TokenSequence(probe.ids[:first], probe.type_ids[:first])
        self._between = TokenSequence(probe.ids[between:second], probe.type_ids[between:second])
        self._after = TokenSequence(probe.ids[after:], probe.type_ids[after:])
        self._question_type = probe.type_ids[first]
        self._passage_type = probe.type_ids[second]
        self._room = most - len(self._before) - len(self._between) - len(self._after)

    def question(self, text: str) -> list[int]:
        """Return the last tokens of a question."""
        most = min(MAX_QUESTION_TOKENS, self._room // 2)
        end = replace_surrogates(text.rstrip()[-most * _MAX_TOKEN_CHARS :])
        ids: list[int] = self._tokenizer.encode(end, add_special_tokens=False).ids
        return ids[-most:]

    def passage(self, text: str) -> PassageTokens:
        """Return the tokens of a whole passage, without MRQA's marks."""
        marks = [match.start() for match in _MARKS.finditer(text)]
        blanked = _MARKS.sub(lambda match: " " * len(match[0]), text)
        encoding = self._tokenizer.encode(replace_surrogates(blanked), add_special_tokens=False)
        offsets = _fitted(encoding.offsets, blanked)
        sections = [bisect_right(marks, start) for start, _ in offsets]
        return PassageTokens(encoding.ids, offsets, sections)

    def windows(
        self,
        question: list[int],
        passage: PassageTokens,
    ) -> Iterator[Window]:
        """Yield the windows that cover a passage, none for a passage without tokens."""
        room = self._room - len(question)
        overlap = min(OVERLAP, room // 2)
        count = len(passage.ids)
        before = self._before.ids + question + self._between.ids
        types_before = self._before.types + [self._question_type] * len(question) + self._between.types
        # The last window may begin only where the previous one ends before the passage's end.
        for first in range(0, max(count - overlap, min(count, 1)), room - overlap):
            ids = passage.ids[first : first + room]
            types = types_before + [self._passage_type] * len(ids) + self._after.types
            tokens = TokenSequence(before + ids + self._after.ids, types)
            yield Window(tokens, len(before), first, first + len(ids))


def _fitted(offsets: Sequence[tuple[int, int]], text: str) -> list[tuple[int, int]]:
    """Trim white space off the offsets, and extend them to whole letters with their combining marks.

    >>> _fitted([(0, 4), (6, 7)], "cafe\\u0301 x"), _fitted([(0, 4), (4, 5)], "cafe\\u0301")
    ([(0, 5), (6, 7)], [(0, 5), (3, 5)])
    >>> _fitted([(0, 3), (3, 5)], " a \\tb")
    [(1, 2), (4, 5)]
    """
    fitted = []
    for start, end in offsets:
        begins = end - len(text[start:end].lstrip())
        fitted.append((begins, begins + len(text[start:end].strip())))
    if text.isascii():
        return fitted
    return [_whole_letters(start, end, text) for start, end in fitted]


def _whole_letters(start: int, end: int, text: str) -> tuple[int, int]:
    if start == end:
        return start, end
    first = max(0, start - _MAX_COMBINING_MARKS)
    last = min(len(text), end + _MAX_COMBINING_MARKS)
    while start > first and _is_mark(text[start]) and not text[start - 1].isspace():
        start -= 1
    while end < last and _is_mark(text[end]):
        end += 1
    return start, end


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")
