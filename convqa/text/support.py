"""How far a text bears out a sentence, by its words: what needs no model, and the floor that a model has to beat.

The score is the share of the sentence's content words that the evidence has, weighed by how rare they are. What other
words cannot make good caps it: a number that the evidence lacks, and a word that is negated in one of them alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from convqa.text import german
from convqa.text.analysis import analyzer
from convqa.text.cache import remembered
from convqa.text.english import lexicon
from convqa.text.idf import idf

IDENTITY = "lexical-1"
"""Of the score, for whoever keeps scores: with another number it is another score."""

NAME_WEIGHT = 2.0
"""How many times more a capitalised word weighs than another as rare."""

CAP = 0.4
"""The most that a sentence gets with a number that the evidence lacks, or with a word negated in one of them alone."""

SUPPORTED = 0.5
"""From this score on a sentence is taken to be supported."""

POWER = 1.5
"""share -> score: so that support begins at 63 % of the words."""

_CLAUSE = re.compile(r"[.,;:!?()]+(?=\s|$)|[\n\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f]")
_OPENING = re.compile(r"(?:^|[.!?:\n\"\u201c(])\s*\W*$")
_CAPITALISED = re.compile(r"[^\W\d_]\S*")
_NUMBER = re.compile(r"\d[\d.]*")
_MARK = re.compile(r"\[[^\[\]\s]{0,8}\s?\d{1,3}\]")
"""References to a note or a source: [3], [注釈 1]."""
_ONE = {"en": "one", "de": "eins"}
"""The same as 1, yet no number that must be there: "one of the best"."""
_TENS, _UNITS = lexicon.TENS, {"one": 1, **lexicon.UNITS}
_TWO_WORDS = re.compile(rf"\b({'|'.join(_TENS)})[-\u2010 ]({'|'.join(_UNITS)})\b", re.IGNORECASE | re.ASCII)
"""Twenty-five: one number of two words."""
_NUMERALS = {"en": lexicon.NUMERALS, "de": german.NUMERALS}
# "Noch" is one behind "weder". Japanese has none here: its negations follow what they negate.
_NEGATIONS = {"en": lexicon.NEGATIONS, "de": german.NEGATIONS | {"noch"}}


class Overlap(NamedTuple):
    """Shares of a sentence that its evidence has.

    ``share``: of the content words, by weight; ``pairs``: of neighbouring content words, as neighbours; ``numbers`` and
    ``names``: of these, 1 without any; ``opposed``: whether a word is negated in one of them alone. Shares are 0 to 1.
    """

    share: float
    pairs: float
    numbers: float
    names: float
    opposed: bool


class Word(NamedTuple):
    """``token``: the stem, of a number its digits; ``number``: in digits or in words, but for "one"; ``name``: written
    with a capital letter inside a sentence."""

    token: str
    negated: bool
    weight: float
    number: bool
    name: bool
    content: bool


class _Text(NamedTuple):
    """``content``: the content words in order, all words where none is one. ``pairs``: tokens of neighbours there."""

    content: tuple[Word, ...]
    signed: frozenset[tuple[str, bool]]
    pairs: frozenset[tuple[str, str]]


def lexical_support(evidence: str, sentence: str, language: str = "en") -> float:
    """How far the evidence has what the sentence says, 0 to 1; from .5 on it is taken to be supported.

    A sentence supports itself (1). Without evidence, or without a word in the sentence, it is 0. More evidence lowers
    it only where that says the opposite of one of the sentence's words, and then to 0.4. Give a passage's title with
    its text (``convqa.domain.Passage.whole_text``): answers name what only the title says.

    >>> passage = "Goethe wrote Faust in 1808. He did not finish it in Rome."
    >>> lexical_support(passage, "Faust: Goethe wrote it in 1808.")
    1.0
    >>> lexical_support(passage, "Goethe wrote Faust in 1832."), lexical_support("", "Goethe wrote Faust.")
    (0.4, 0.0)

    :raises InputError: for a language without an analysis.
    """
    found = overlap(evidence, sentence, language)
    score: float = found.share**POWER
    return min(score, CAP) if found.opposed or found.numbers < 1 else score


def overlap(evidence: str, sentence: str, language: str = "en") -> Overlap:
    """Shares of a sentence that its evidence has; none where either has no words.

    >>> overlap("He did not go to Rome.", "He went to Rome in 1786.")  # doctest: +ELLIPSIS
    Overlap(share=0.41..., pairs=0.0, numbers=0.0, names=1.0, opposed=False)

    :raises InputError: for a language without an analysis.
    """
    said, there = _text(sentence, language), _text(evidence, language)
    total = sum(word.weight for word in said.content)
    if not total or not there.signed:
        return Overlap(0.0, 0.0, 0.0, 0.0, opposed=False)
    signs = [(word, (word.token, word.negated) in there.signed, (word.token, not word.negated) in there.signed)
             for word in said.content]  # fmt: skip
    return Overlap(
        min(1.0, float(sum(word.weight for word, same, _ in signs if same) / total)),
        _share([pair in there.pairs for pair in said.pairs]),
        _share([same or other for word, same, other in signs if word.number]),
        _share([same or other for word, same, other in signs if word.name]),
        any(other and not same for _, same, other in signs),
    )


def content(text: str, language: str = "en") -> tuple[Word, ...]:
    """The content words of a text in order; all its words where none is one."""
    return _text(text, language).content


def _share(found: list[bool]) -> float:
    return sum(found) / len(found) if found else 1.0


@remembered(1024)
def _text(text: str, language: str) -> _Text:
    words = tuple(_words(text, language))
    content = tuple(word for word in words if word.content) or words
    return _Text(
        content,
        frozenset((word.token, word.negated) for word in words),
        frozenset((one.token, other.token) for one, other in pairwise(content)),
    )


def _words(text: str, language: str) -> Iterator[Word]:
    """The words of a text. A negation is taken to be one of the next content word of its clause but "one"."""
    analysis = analyzer(language)
    negations = _NEGATIONS.get(language, frozenset())
    text = _MARK.sub(" ", unicodedata.normalize("NFKC", text))
    if language == "en":
        text = _TWO_WORDS.sub(lambda found: str(_TENS[found[1].lower()] + _UNITS[found[2].lower()]), text)
    names = {word for piece in _names(text) for word in analysis.words(piece)}
    for clause in _CLAUSE.split(text):
        negated = False
        for word in analysis.words(clause):
            number = _number(word, language)
            one = word == _ONE.get(language)
            token = "1" if one else number or analysis.stem(word)
            content = word not in analysis.long_stopwords
            if word in negations or word.endswith(lexicon.CONTRACTED_NOT):
                yield Word(token, False, idf(word, language), False, False, False)
                negated = True
                continue
            name = word in names
            weight = idf(word, language) * (NAME_WEIGHT if name else 1.0)
            # "No one came" says what nobody did, and nothing of a number.
            takes = content and not one
            yield Word(token, negated and takes, weight, number is not None, name, content)
            negated = negated and not takes


def _number(word: str, language: str) -> str | None:
    """The digits of a lower-case word that is a number."""
    if digits := _NUMBER.match(word.replace(",", "")):
        return digits[0]
    # Before stemming: the stem of twelve is twelv.
    value = _NUMERALS.get(language, {}).get(word)
    return None if value is None else str(value)


def _names(text: str) -> Iterator[str]:
    """Words written with a capital letter that do not open a sentence."""
    for found in _CAPITALISED.finditer(text):
        if found[0][0].isupper() and not _OPENING.search(text, max(0, found.start() - 20), found.start()):
            yield found[0]
