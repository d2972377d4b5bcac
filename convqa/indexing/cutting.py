"""Split the text of a document into passages at paragraphs and sentences.

Haystack's RecursiveDocumentSplitter downloads data for tiktoken and NLTK, ignores headings, and splits long sentences
anywhere. This module uses the sentences that answers quote (:mod:`convqa.text.sentences`) and the tokens of the shipped
encoder.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from convqa.models.source import find_model
from convqa.models.types import Tokenizer, load_tokenizer
from convqa.text.sentences import sentences

TOKENS = 220
"""Approximate tokens of a passage. With its title, it fits the encoder's 256."""
_PARAGRAPH = re.compile(r"(?:[^\n]|\n(?!\s*\n))+")
_LETTER = re.compile(r"[^\W\d_]")
_NO_HEADING = re.compile(r"^\s*[|•*+\u2013-]|[.!?…:;,\u3002\uff01\uff1f]\W*$|\n")


class _Sentence(NamedTuple):
    start: int
    end: int
    tokens: int
    is_heading: bool


def cut(text: str, language: str, pages: Sequence[int] = ()) -> list[tuple[int, int]]:
    """Return the passages of a text as trimmed, disjoint offsets in order. Each has a letter.

    A passage ends at a paragraph if it is at least half full, else at a sentence. It does not end with a heading. A
    short remainder is added to the last passage.

    :param pages: offsets where pages begin. A new page begins a new passage, unless the passage has only a few words.
    """

    def on_new_page(passage: list[_Sentence], later: _Sentence) -> bool:
        short = _size(passage) <= TOKENS / 16
        return not short and bisect_right(pages, passage[0].start) < bisect_right(pages, later.start)

    passages: list[list[_Sentence]] = [[]]
    for paragraph in _paragraphs(text, language):
        size = _size(passages[-1])
        if size > TOKENS / 2 and (size + _size(paragraph) > TOKENS or paragraph[0].is_heading):
            passages.append(_headings_of(passages[-1]))
        for sentence in paragraph:
            if _size(passages[-1]) + sentence.tokens > TOKENS or on_new_page(passages[-1], sentence):
                passages.append(_headings_of(passages[-1]))
            passages[-1].append(sentence)
    *_, before, rest = [[], *passages]
    if (
        before
        and _size(rest) < TOKENS / 4
        and _size(before + rest) <= TOKENS * 1.1
        and not on_new_page(before, rest[0])
    ):
        passages[-2:] = [before + rest]
    spans = [(passage[0].start, passage[-1].end) for passage in passages if passage]
    return [(start, end) for start, end in spans if _LETTER.search(text, start, end)]


def is_heading(paragraph: str) -> bool:
    """Return whether a paragraph looks like a heading: one short line with a letter, without final punctuation.

    >>> is_heading("2.1 Maintenance"), is_heading("It is so."), is_heading("- an item")
    (True, False, False)
    """
    return len(paragraph) <= 100 and not _NO_HEADING.search(paragraph) and _LETTER.search(paragraph) is not None


def _size(passage: list[_Sentence]) -> int:
    return sum(sentence.tokens for sentence in passage)


def _headings_of(passage: list[_Sentence]) -> list[_Sentence]:
    """Remove and return the headings at the end of a passage."""
    kept = next((number for number in range(len(passage), 0, -1) if not passage[number - 1].is_heading), len(passage))
    headings, passage[kept:] = passage[kept:], []
    return headings


def _paragraphs(text: str, language: str) -> Iterator[list[_Sentence]]:
    for match in _PARAGRAPH.finditer(text):
        spans = [(match.start() + start, match.start() + end) for start, end in sentences(match[0], language)]
        sequences = _tokenizer().texts([text[start:end] for start, end in spans])
        # Subtracts the two special tokens. A very long word is a single token, so the length counts, too.
        counts = [max(len(ids) - 2, (end - start) // 10) for ids, (start, end) in zip(sequences, spans, strict=True)]
        if spans:
            heading = is_heading(match[0].strip())
            yield [_Sentence(*span, count, heading) for span, count in zip(spans, counts, strict=True)]


@cache
def _tokenizer() -> Tokenizer:
    return load_tokenizer(find_model("encoder").path, 256)
