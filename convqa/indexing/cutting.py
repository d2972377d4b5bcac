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


class SizedSentence(NamedTuple):
    """A sentence with its offsets and number of tokens; ``is_heading``: of a paragraph that is a heading."""

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

    def is_on_new_page(passage: list[SizedSentence], later: SizedSentence) -> bool:
        is_short = _size(passage) <= TOKENS / 16
        return not is_short and bisect_right(pages, passage[0].start) < bisect_right(pages, later.start)

    passage: list[SizedSentence] = []
    passages = [passage]

    def begin_passage() -> None:
        nonlocal passage
        passage = _headings_of(passage)
        passages.append(passage)

    for paragraph in _paragraphs(text, language):
        is_half_full = _size(passage) > TOKENS / 2
        if is_half_full and (_size(passage) + _size(paragraph) > TOKENS or paragraph[0].is_heading):
            begin_passage()
        for sentence in paragraph:
            if _size(passage) + sentence.tokens > TOKENS or is_on_new_page(passage, sentence):
                begin_passage()
            passage.append(sentence)
    if len(passages) > 1 and _size(passage) < TOKENS / 4:
        last = passages[-2]
        if last and _size(last + passage) <= TOKENS * 1.1 and not is_on_new_page(last, passage[0]):
            passages[-2:] = [last + passage]
    spans = [(passage[0].start, passage[-1].end) for passage in passages if passage]
    return [(start, end) for start, end in spans if _LETTER.search(text, start, end)]


def is_heading(paragraph: str) -> bool:
    """Return whether a paragraph looks like a heading: one short line with a letter, without final punctuation.

    >>> is_heading("2.1 Maintenance"), is_heading("It is so."), is_heading("- an item")
    (True, False, False)
    """
    return len(paragraph) <= 100 and not _NO_HEADING.search(paragraph) and _LETTER.search(paragraph) is not None


def _size(sentences: list[SizedSentence]) -> int:
    return sum(sentence.tokens for sentence in sentences)


def _headings_of(passage: list[SizedSentence]) -> list[SizedSentence]:
    """Remove and return the headings at the end of a passage that has more than headings."""
    kept = len(passage)
    while kept and passage[kept - 1].is_heading:
        kept -= 1
    if kept == 0:
        return []
    headings = passage[kept:]
    del passage[kept:]
    return headings


def _paragraphs(text: str, language: str) -> Iterator[list[SizedSentence]]:
    for match in _PARAGRAPH.finditer(text):
        spans = sentences(match[0], language)
        sequences = _tokenizer().texts([match[0][start:end] for start, end in spans])
        heading = is_heading(match[0].strip())
        paragraph = []
        for (start, end), ids in zip(spans, sequences, strict=True):
            # Subtracts the two special tokens. A very long word is a single token, so the length counts, too.
            tokens = max(len(ids) - 2, (end - start) // 10)
            paragraph.append(SizedSentence(match.start() + start, match.start() + end, tokens, heading))
        if paragraph:
            yield paragraph


@cache
def _tokenizer() -> Tokenizer:
    return load_tokenizer(find_model("encoder").path, 256)
