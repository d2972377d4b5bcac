"""A document's text, cut into passages at its paragraphs and sentences.

Haystack's RecursiveDocumentSplitter counts tokens with tiktoken and finds sentences with NLTK, both of which fetch
their data from the network when they are first used, knows no headings, and cuts a sentence that is too long anywhere.
Here sentences are those that answers quote (:mod:`convqa.text.sentences`) and tokens those of the encoder that ships.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from convqa.models.source import find_model
from convqa.models.tokens import Tokenizer, load_tokenizer
from convqa.text.sentences import sentences

TOKENS = 220
"""Of a passage, about: with its title it fits the 256 that the encoder sees."""
_PARAGRAPH = re.compile(r"(?:[^\n]|\n(?!\s*\n))+")
_LETTER = re.compile(r"[^\W\d_]")
_NO_HEADING = re.compile(r"^\s*[|•*+\u2013-]|[.!?…:;,\u3002\uff01\uff1f]\W*$|\n")


class _Sentence(NamedTuple):
    start: int
    end: int
    tokens: int
    is_heading: bool


def cut(text: str, language: str, pages: Sequence[int] = ()) -> list[tuple[int, int]]:
    """The passages of a text as offsets: in order, apart, trimmed, none without a letter.

    A passage ends at a paragraph where that leaves it half full, else at a sentence. A heading begins a passage, or
    stands within one, and never ends one that has more. A small rest of the text stays with the passage before it.

    :param pages: where pages begin. A sentence on a later page begins a passage, but behind a few words.
    """

    def turns(passage: list[_Sentence], later: _Sentence) -> bool:
        short = _size(passage) <= TOKENS / 16
        return not short and bisect_right(pages, passage[0].start) < bisect_right(pages, later.start)

    passages: list[list[_Sentence]] = [[]]
    for paragraph in _paragraphs(text, language):
        size = _size(passages[-1])
        if size > TOKENS / 2 and (size + _size(paragraph) > TOKENS or paragraph[0].is_heading):
            passages.append(_headings_of(passages[-1]))
        for sentence in paragraph:
            if _size(passages[-1]) + sentence.tokens > TOKENS or turns(passages[-1], sentence):
                passages.append(_headings_of(passages[-1]))
            passages[-1].append(sentence)
    *_, before, rest = [[], *passages]
    if before and _size(rest) < TOKENS / 4 and _size(before + rest) <= TOKENS * 1.1 and not turns(before, rest[0]):
        passages[-2:] = [before + rest]
    spans = [(passage[0].start, passage[-1].end) for passage in passages if passage]
    return [(start, end) for start, end in spans if _LETTER.search(text, start, end)]


def is_heading(paragraph: str) -> bool:
    """Whether a paragraph looks like a heading: one short line with a letter, and no mark at its end.

    >>> is_heading("2.1 Maintenance"), is_heading("It is so."), is_heading("- an item")
    (True, False, False)
    """
    return len(paragraph) <= 100 and not _NO_HEADING.search(paragraph) and _LETTER.search(paragraph) is not None


def _size(passage: list[_Sentence]) -> int:
    return sum(sentence.tokens for sentence in passage)


def _headings_of(passage: list[_Sentence]) -> list[_Sentence]:
    """Take off a passage the headings that it ends with: they begin the next one."""
    kept = next((number for number in range(len(passage), 0, -1) if not passage[number - 1].is_heading), len(passage))
    headings, passage[kept:] = passage[kept:], []
    return headings


def _paragraphs(text: str, language: str) -> Iterator[list[_Sentence]]:
    for found in _PARAGRAPH.finditer(text):
        places = [(found.start() + start, found.start() + end) for start, end in sentences(found[0], language)]
        tokens = _tokenizer().texts([text[start:end] for start, end in places])
        # Two tokens mark the ends of a sequence; a word that is too long is one, whatever its length.
        counts = [max(len(one) - 2, (end - start) // 10) for one, (start, end) in zip(tokens, places, strict=True)]
        if places:
            heading = is_heading(found[0].strip())
            yield [_Sentence(*place, count, heading) for place, count in zip(places, counts, strict=True)]


@cache
def _tokenizer() -> Tokenizer:
    return load_tokenizer(find_model("encoder").path, 256)
