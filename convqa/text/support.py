"""Lexical support of a sentence by a text: needs no model, and is the baseline that a model has to beat.

The score is the share of the sentence's content words that occur in the evidence, weighted by idf. It is capped if the
evidence lacks a number, or if a word is negated in only one of the two.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from convqa.errors import InputError
from convqa.text import german
from convqa.text.analysis import analyzer
from convqa.text.english import lexicon
from convqa.text.idf import idf
from convqa.text.words import numerals
from convqa.text.words import words as split_words

IDENTITY = "lexical-1"
"""Name and version of the score, for caches and saved scores."""

NAME_WEIGHT = 2.0
"""Factor on the weight of a capitalized word."""

CAP = 0.4
"""Maximum score of a sentence with a number that the evidence lacks, or a word negated in only one of the two."""

SUPPORTED = 0.5
"""Minimum score of a supported sentence."""

POWER = 1.5
"""Exponent that turns a share into a score, so that support begins at 63 % of the words."""

_CLAUSE = re.compile(r"[.,;:!?()]+(?=\s|$)|[\n\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f]")
_OPENING = re.compile(r"(?:^|[.!?:\n\"\u201c(])\s*\W*$")
_OPENING_CHARS = 20
"""How far back a sentence's opening is looked for."""

_WORD_WITH_MARKS = re.compile(r"[^\W\d_]\S*")
_NUMBER = re.compile(r"\d[\d.]*")
_MARK = re.compile(r"\[[^\[\]\s]{0,8}\s?\d{1,3}\]")
"""References to a note or a source: [3], [注釈 1]."""

_MONTH_NAMES = list(
    numerals("January February March April May June July August September October November December", 1)
)
_MONTHS = {name[:3]: name for name in _MONTH_NAMES if name != "May"} | {"Sept": "September"}
_MONTH = re.compile(rf"\b({'|'.join(sorted(_MONTHS, reverse=True))})\b\.?")
_DATE = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_WEEKDAY_NAMES = list(numerals("Monday Tuesday Wednesday Thursday Friday Saturday Sunday", 1))
_WEEKDAYS = {name[:3]: name for name in _WEEKDAY_NAMES}
# "Sun" and "Sat" are words, unless a time follows.
_WEEKDAY = re.compile(r"\b(?:(Mon|Tue|Wed|Thu|Fri)(?:s|r|rs)?|(Sat|Sun)(?=[.,]?\s*\d))\b\.?")
_UNIT_NAMES = {"min": "minutes", "h": "hours", "hr": "hours", "hrs": "hours"}
_UNIT = re.compile(rf"(?<=\d)\s?({'|'.join(_UNIT_NAMES)})\b(?!/)")
_TIME = re.compile(r"\b(\d{1,2}):(\d\d)\b")
_MAX_STEM = 6
"""Stems are compared up to here, so that "discovered" equals "discovery"."""

_ZEROS = re.compile(r"(?:\.0*)+$")

_ONE = {"de": "eins", "en": "one"}
"""Equals 1, but is not a number that the evidence must have: "one of the best"."""
_TENS = lexicon.TENS
_UNITS = {"one": 1, **lexicon.UNITS}
_TWO_WORDS = re.compile(rf"\b({'|'.join(_TENS)})[-\u2010 ]({'|'.join(_UNITS)})\b", re.IGNORECASE | re.ASCII)
"""A number written as two words: twenty-five."""
_NUMERALS = {"en": lexicon.NUMERALS, "de": german.NUMERALS}
# "Noch" negates after "weder". Japanese is left out because its negations follow what they negate.
_NEGATIONS = {"en": lexicon.NEGATIONS, "de": german.NEGATIONS | {"noch"}}


class Overlap(NamedTuple):
    """The shares of a sentence's words that occur in its evidence, each 0 to 1.

    ``share``: of content words, by weight. ``pairs``: of adjacent content words. ``numbers`` and ``names``: 1 if the
    sentence has none. ``opposed``: whether a word is negated in only one of the two.
    """

    share: float
    pairs: float
    numbers: float
    names: float
    opposed: bool


class SupportWord(NamedTuple):
    """A word of a text.

    ``token``: the stem, or the digits of a number. A number is in digits or in words, except "one"; a name is
    capitalized within a sentence.
    """

    token: str
    negated: bool
    weight: float
    is_number: bool
    is_name: bool
    is_content: bool
    is_negation: bool = False


class _Text(NamedTuple):
    """``content``: the content words in order, or all words without any. ``pairs``: adjacent tokens of these."""

    content: tuple[SupportWord, ...]
    signed: frozenset[tuple[str, bool]]
    pairs: frozenset[tuple[str, str]]


def lexical_support(
    evidence: str,
    sentence: str,
    language: str = "en",
) -> float:
    """Return how far the evidence supports a sentence, 0 to 1; from .5 on the sentence counts as supported.

    A sentence supports itself (1). Empty evidence or an empty sentence gives 0. More evidence lowers the score only if
    it contradicts a word of the sentence, and then to 0.4. Pass the title together with the text
    (``convqa.domain.Passage.whole_text``), because answers name things that only the title mentions.

    >>> passage = "Goethe wrote Faust in 1808. He did not finish it in Rome."
    >>> lexical_support(passage, "Faust: Goethe wrote it in 1808.")
    1.0
    >>> lexical_support(passage, "Goethe wrote Faust in 1832."), lexical_support("", "Goethe wrote Faust.")
    (0.4, 0.0)

    :raises InputError: if the language has no analysis.
    """
    shares = overlap(evidence, sentence, language)
    score: float = shares.share**POWER
    if shares.opposed or shares.numbers < 1:
        return min(score, CAP)
    return score


def overlap(evidence: str, sentence: str, language: str = "en") -> Overlap:
    """Return the shares of a sentence that occur in its evidence, all 0 if either has no words.

    >>> overlap("He did not go to Rome.", "He went to Rome in 1786.")  # doctest: +ELLIPSIS
    Overlap(share=0.41..., pairs=0.0, numbers=0.0, names=1.0, opposed=False)

    :raises InputError: if the language has no analysis.
    """
    claim = _text(sentence, language)
    source = _text(evidence, language)
    total = sum(word.weight for word in claim.content)
    if not total or not source.signed:
        return Overlap(0.0, 0.0, 0.0, 0.0, opposed=False)
    supported = 0.0
    numbers = []
    names = []
    opposed = False
    for word in claim.content:
        is_supported = (word.token, word.negated) in source.signed
        is_opposed = (word.token, not word.negated) in source.signed
        if is_supported:
            supported += word.weight
        elif is_opposed:
            opposed = True
        if word.is_number:
            numbers.append(is_supported or is_opposed)
        if word.is_name:
            names.append(is_supported or is_opposed)
    pairs = [pair in source.pairs for pair in claim.pairs]
    return Overlap(
        min(1.0, float(supported / total)),
        _share(pairs),
        _share(numbers),
        _share(names),
        opposed,
    )


@lru_cache(4096)
def support_words(text: str, language: str) -> tuple[SupportWord, ...]:
    """Return the words of a text in order, with equal tokens for dates and numbers that are written differently.

    In languages without an analyzer, words are weighted by their length, because frequent words are short in every
    language (Zipf), and ideographs are compared as bigrams.

    >>> [word.token for word in support_words("On Tue, Sep 07, 14:30, 2,280.0 m", "en") if word.is_content]
    ['tuesda', 'septem', '7', '14.30', '2280', 'm']
    """
    text = _MONTH.sub(lambda match: _MONTHS[match[1]], _DATE.sub(_spelled_date, text))
    text = _WEEKDAY.sub(lambda match: _WEEKDAYS[match[1] or match[2]], text)
    text = _UNIT.sub(lambda match: f" {_UNIT_NAMES[match[1]]}", text)
    text = _TIME.sub(r"\1.\2", text)
    try:
        words = list(_words(text, language))
    except InputError:
        words = list(_surface_words(text))
    return tuple(word._replace(token=_comparable(word)) for word in words)


def _comparable(word: SupportWord) -> str:
    """Return the token without the zeros of a number, or the endings of a word that its stem has kept."""
    if word.is_number:
        return _ZEROS.sub("", word.token.lstrip("0")) or "0"
    return word.token[:_MAX_STEM]


def _spelled_date(match: re.Match[str]) -> str:
    month = int(match[2])
    return f"{match[3]} {_MONTH_NAMES[month - 1]} {match[1]}" if 1 <= month <= len(_MONTH_NAMES) else match[0]


def _surface_words(text: str) -> Iterator[SupportWord]:
    ideographs = ""
    for word in [*split_words(unicodedata.normalize("NFKC", text)), ""]:
        if len(word) == 1 and not word.isascii():
            ideographs += word
            continue
        for start in range(max(1, len(ideographs) - 1) if ideographs else 0):
            yield SupportWord(ideographs[start : start + 2], False, 2.0, False, False, True)
        ideographs = ""
        number = _NUMBER.match(word.replace(",", ""))
        if word:
            yield SupportWord(number[0] if number else word, False, len(word), number is not None, False, True)


def _share(found: list[bool]) -> float:
    return sum(found) / len(found) if found else 1.0


@lru_cache(1024)
def _text(text: str, language: str) -> _Text:
    words = tuple(_words(text, language))
    content = tuple(word for word in words if word.is_content) or words
    return _Text(
        content,
        frozenset((word.token, word.negated) for word in words),
        frozenset((first.token, second.token) for first, second in pairwise(content)),
    )


def _words(text: str, language: str) -> Iterator[SupportWord]:
    """Yield the words of a text. A negation applies to the next content word of its clause, except "one"."""
    analysis = analyzer(language)
    negations = _NEGATIONS.get(language, frozenset())
    text = _MARK.sub(" ", unicodedata.normalize("NFKC", text))
    if language == "en":
        text = _TWO_WORDS.sub(_digits, text)
    names = {word for piece in _names(text) for word in analysis.words(piece)}
    for clause in _CLAUSE.split(text):
        negated = False
        for word in analysis.words(clause):
            weight = idf(word, language)
            is_one = word == _ONE.get(language)
            number = _number(word, language)
            token = "1" if is_one else number or analysis.stem(word)
            if word in negations or word.endswith(lexicon.CONTRACTED_NOT):
                yield SupportWord(token, False, weight, False, False, False, True)
                negated = True
                continue
            is_name = word in names
            is_content = word not in analysis.long_stopwords
            if is_name:
                weight *= NAME_WEIGHT
            # "No one came" does not negate a number.
            is_negatable = is_content and not is_one
            yield SupportWord(token, negated and is_negatable, weight, number is not None, is_name, is_content)
            if is_negatable:
                negated = False


def _digits(match: re.Match[str]) -> str:
    return str(_TENS[match[1].lower()] + _UNITS[match[2].lower()])


def _number(word: str, language: str) -> str | None:
    """Return the digits of a lower-case number, or None. The word must not be stemmed: twelve becomes twelv."""
    digits = _NUMBER.match(word.replace(",", ""))
    if digits:
        return digits[0]
    value = _NUMERALS.get(language, {}).get(word)
    return None if value is None else str(value)


def _names(text: str) -> Iterator[str]:
    """Yield the capitalized words that do not open a sentence."""
    for match in _WORD_WITH_MARKS.finditer(text):
        word = match[0]
        start = match.start()
        if word[0].isupper() and not _OPENING.search(text, max(0, start - _OPENING_CHARS), start):
            yield word
