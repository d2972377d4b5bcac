"""Cut the text of a document into passages, between units.

Haystack's RecursiveDocumentSplitter downloads data for tiktoken and NLTK, ignores headings, and splits long sentences
anywhere. This module keeps units whole (:mod:`convqa.text.units`) and counts the tokens of the shipped encoder.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from convqa.documents.layout import LaidOut
from convqa.domain import Unit
from convqa.models.source import find_model
from convqa.models.types import Tokenizer, load_tokenizer
from convqa.text.units import units_of_parts

TOKENS = 220
"""Approximate tokens of a passage. With its title, it fits the encoder's 256."""


class SizedUnit(NamedTuple):
    """A unit with its number of tokens and the page where it begins."""

    unit: Unit
    tokens: int
    page: int

    @property
    def is_heading(self) -> bool:
        return not self.unit.is_quotable


class Cut(NamedTuple):
    """A passage: the characters ``[start, end)`` of the text, its page, and its units with offsets into the passage."""

    start: int
    end: int
    page: int
    units: tuple[Unit, ...]


def cut(document: LaidOut, language: str) -> list[Cut]:
    """Return the passages of a text, disjoint and in order.

    A passage ends at a paragraph, list or table if it is at least half full, else between units. It does not end with
    a heading. A page begins a new passage, unless the passage has only a few words.
    """

    passages: list[list[SizedUnit]] = [[]]
    for paragraph in _paragraphs(document, language):
        size = _size(passages[-1])
        is_too_long = size + _size(paragraph) > TOKENS
        if size > TOKENS / 2 and (is_too_long or paragraph[0].is_heading):
            passages.append(_headings_of(passages[-1]))
        for unit in paragraph:
            passage = passages[-1]
            size = _size(passage)
            is_on_new_page = size > TOKENS / 16 and passage[0].page < unit.page
            if size + unit.tokens > TOKENS or is_on_new_page:
                passages.append(_headings_of(passage))
            passages[-1].append(unit)
    return [_passage(units) for units in passages if units]


def _passage(units: Sequence[SizedUnit]) -> Cut:
    start = units[0].unit.start
    own = []
    for sized in units:
        unit = sized.unit
        own.append(dataclasses.replace(unit, start=unit.start - start, end=unit.end - start))
    return Cut(start, units[-1].unit.end, units[0].page, tuple(own))


def _size(units: Sequence[SizedUnit]) -> int:
    return sum(unit.tokens for unit in units)


def _headings_of(passage: list[SizedUnit]) -> list[SizedUnit]:
    """Remove and return the headings at the end of a passage that has more than headings."""
    kept = len(passage)
    while kept and passage[kept - 1].is_heading:
        kept -= 1
    if kept == 0:
        return []
    headings = passage[kept:]
    del passage[kept:]
    return headings


def _paragraphs(document: LaidOut, language: str) -> Iterator[list[SizedUnit]]:
    """Yield the units of each paragraph, of each list with its introduction, and of each table."""
    text = document.text
    units = units_of_parts(text, document.parts, language)
    sequences = _tokenizer().texts([text[unit.start : unit.end] for unit in units])
    paragraph: list[SizedUnit] = []
    part = 0
    for unit, ids in zip(units, sequences, strict=True):
        while document.parts[part].end <= unit.start:
            part += 1
        # Subtracts the two special tokens. A very long word is a single token, so the length counts, too.
        tokens = max(len(ids) - 2, (unit.end - unit.start) // 10)
        if paragraph and not _belongs(text, paragraph[-1].unit, unit):
            yield paragraph
            paragraph = []
        paragraph.append(SizedUnit(unit, tokens, document.parts[part].page))
    if paragraph:
        yield paragraph


def _belongs(text: str, before: Unit, unit: Unit) -> bool:
    """Return whether a unit continues the paragraph, list or table of the one before, or is introduced by it."""
    if "\n\n" not in text[before.end : unit.start]:
        return True
    return bool(unit.context) and unit.context.endswith(text[before.start : before.end])


@cache
def _tokenizer() -> Tokenizer:
    return load_tokenizer(find_model("encoder").path, 256)
