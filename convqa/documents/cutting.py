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
    a heading. A page begins a new passage, unless the passage has only a few words. A short remainder is added to the
    last passage.
    """

    def is_on_new_page(passage: list[SizedUnit], later: SizedUnit) -> bool:
        return _size(passage) > TOKENS / 16 and passage[0].page < later.page

    passage: list[SizedUnit] = []
    passages = [passage]

    def begin_passage() -> None:
        nonlocal passage
        passage = _headings_of(passage)
        passages.append(passage)

    for paragraph in _paragraphs(document, language):
        is_half_full = _size(passage) > TOKENS / 2
        if is_half_full and (_size(passage) + _size(paragraph) > TOKENS or paragraph[0].is_heading):
            begin_passage()
        for unit in paragraph:
            if _size(passage) + unit.tokens > TOKENS or is_on_new_page(passage, unit):
                begin_passage()
            passage.append(unit)
    if len(passages) > 1 and _size(passage) < TOKENS / 4:
        last = passages[-2]
        if last and _size(last + passage) <= TOKENS * 1.1 and not is_on_new_page(last, passage[0]):
            passages[-2:] = [last + passage]
    return [_passage(document.text, units) for units in passages if units]


def _passage(text: str, units: Sequence[SizedUnit]) -> Cut:
    start = units[0].unit.start
    if text[:start].endswith("- ") and units[0].unit.kind == "item":
        # The bullet of a first item belongs to the passage.
        start -= 2
    own = tuple(
        dataclasses.replace(each.unit, start=each.unit.start - start, end=each.unit.end - start) for each in units
    )
    return Cut(start, units[-1].unit.end, units[0].page, own)


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
