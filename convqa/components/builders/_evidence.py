"""The units of a passage as evidence for sentences: their words, numbers, cells and clauses."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from textwrap import shorten
from typing import NamedTuple

from convqa.components.builders._prompt import META, PassagePart
from convqa.domain import Passage, Unit
from convqa.text.support import SupportWord, support_words
from convqa.text.units import units

_MAX_HEADINGS = 3
"""How many headings before a unit are its context, as the levels of a text's headings may be unknown."""

_MAX_SCOPE = 4
"""How many content words after a negation it negates."""

_MAX_QUOTE_CHARS = 120
_CLAUSE = re.compile(
    r"[.,;:!?()\u2013\u2014]+(?=\s|$)|[\n|\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f]"
    r"|\s(?:but|because|although|though|while|whereas|if|unless|when|except|which|who|until|till|before|bis|bevor|aber|weil|wenn|obwohl|sondern)\s",
    re.I,
)
_NUMBER_SIGN = re.compile(r"\bno\.(?=\s*\d)", re.I)
_CONDITION = re.compile(r"\W*(?:if|unless|when|wenn|falls)\b", re.I)
_FIGURES = re.compile(r"[\d.,]+")
_WITHOUT = frozenset({"withou", "ohn"})

Weights = Mapping[str, float]
"""Token -> weight."""


class Clause(NamedTuple):
    """A clause's content words, those that are negated (all words of a positive clause), and whether any is.

    ``is_condition``: it begins with "if" or "when", so that it says nothing itself.
    """

    words: Weights
    scope: Weights
    is_negated: bool
    is_condition: bool


class RowCell(NamedTuple):
    """A cell of a row. ``header``: the tokens that only its column's header has. ``form``: its text without digits."""

    header: frozenset[str]
    numbers: frozenset[str]
    form: str


class Evidence(NamedTuple):
    """A unit of a passage: its own tokens, and these with those of its context.

    ``counted``: number -> the words of what it counts; in a row all words. ``label``: the tokens of a row's first cell.
    ``is_negated``: whether it, its heading or its introduction has a negation.
    """

    passage: Passage
    unit: Unit
    own: frozenset[str]
    all: frozenset[str]
    counted: Mapping[str, Collection[str]]
    clauses: Sequence[Clause]
    cells: Sequence[RowCell]
    label: frozenset[str]
    is_negated: bool

    @property
    def said(self) -> str:
        """The reason for the mark of a sentence that the unit contradicts: its text."""
        text = " ".join(self.passage.text[self.unit.start : self.unit.end].split())
        return f'the passages say "{shorten(text, _MAX_QUOTE_CHARS, placeholder=" ...")}"'

    def is_named(self, words: Collection[str]) -> bool:
        """Return whether it is a row whose label has only these words."""
        return bool(self.label) and self.label.issubset(words)

    def fit(self, words: Weights) -> float:
        """Return the weight of the words that the unit and its context have; 0 if only the context has any."""
        return 0.0 if self.own.isdisjoint(words) else weight(words, self.all)


def evidence_of(part: PassagePart, language: str) -> Iterator[Evidence]:
    """Yield the units of a passage's part that can be quoted. A table without a header has its first row as one."""
    passage, start, end = part
    facts = [str(fact).replace("_", " ") for fact in (passage.title, *map(passage.meta.get, META)) if fact]
    header = ""
    headings: list[str] = []
    for unit in units(passage, language):
        text = passage.text[unit.start : unit.end]
        is_row = unit.kind == "row"
        header = (header or unit.context or text) if is_row else ""
        if unit.kind == "heading":
            headings = [*headings, text][-_MAX_HEADINGS:]
        if not unit.is_quotable or unit.start < start or unit.end > end:
            continue
        words = support_words(text, language)
        own = tokens_of([text], language)
        all = own | tokens_of([*facts, unit.heading, unit.context, header, *headings], language)
        counted = {
            word.token: all if is_row else counted_by(words, position)
            for position, word in enumerate(words)
            if word.is_number
        }
        cells = _cells(header, text, language) if is_row else ()
        filled = [cell for cell in text.split("|") if cell.strip()] if is_row else []
        label = tokens_of(filled[:1], language)
        about = support_words(f"{unit.heading}\n{unit.context}", language)
        is_negated = any(word.is_negation for word in (*words, *about))
        yield Evidence(
            passage,
            unit,
            own,
            all,
            counted,
            clauses_of(text, language),
            cells,
            label,
            is_negated,
        )


def _cells(header: str, row: str, language: str) -> list[RowCell]:
    """Return the cells of a row below a header with as many."""
    heads = [tokens_of([cell], language) for cell in header.splitlines()[-1].split("|")]
    texts = row.split("|")
    if len(heads) != len(texts):
        return []
    found = []
    for place, text in enumerate(texts):
        others = frozenset().union(*heads[:place], *heads[place + 1 :])
        words = support_words(text, language)
        numbers = frozenset(word.token for word in words if word.is_number)
        found.append(RowCell(heads[place] - others, numbers, _FIGURES.sub("", text).strip()))
    return found


def clauses_of(text: str, language: str) -> Sequence[Clause]:
    """Return the clauses of a text. "No." negates the clause before it, and "others are not" has its predicate."""
    clauses: list[Clause] = []
    text = _NUMBER_SIGN.sub("number", text)
    starts = [0, *(match.start() for match in _CLAUSE.finditer(text))]
    for start, clause in zip(starts, _CLAUSE.split(text), strict=True):
        words = support_words(clause, language)
        content = {word.token: word.weight for word in words if word.is_content}
        negations = [place for place, word in enumerate(words) if word.is_negation and word.token not in _WITHOUT]
        is_negated = len(negations) % 2 == 1
        if not content and is_negated and clauses:
            clauses[-1] = clauses[-1]._replace(is_negated=not clauses[-1].is_negated)
        if not content:
            continue
        scope = content
        if is_negated:
            after = [word for word in words[negations[0] + 1 :] if word.is_content]
            scope = {word.token: word.weight for word in after[:_MAX_SCOPE]}
            if not scope and clauses:
                content |= clauses[-1].words
            scope = scope or content
        clauses.append(Clause(content, scope, is_negated, _CONDITION.match(text, start) is not None))
    return clauses


def counted_by(words: Sequence[SupportWord], position: int) -> frozenset[str]:
    """Return what the number at a position counts: the content word behind it, if there is one."""
    following = words[position + 1 : position + 2]
    return frozenset(word.token for word in following if word.is_content and not word.is_number)


def weight(words: Weights, known: Collection[str]) -> float:
    return sum(weight for token, weight in words.items() if token in known)


def part_of(words: Weights, known: Collection[str]) -> float:
    total = sum(words.values())
    return weight(words, known) / total if total else 0.0


@lru_cache(4096)
def _token_set(text: str, language: str) -> frozenset[str]:
    return frozenset(word.token for word in support_words(text, language))


def tokens_of(texts: Sequence[str], language: str) -> frozenset[str]:
    return frozenset().union(*(_token_set(text, language) for text in texts))
