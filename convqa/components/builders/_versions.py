"""Documents that answer differently, such as two years of a price list: which is the later one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import NamedTuple

from convqa.domain import Passage, Span
from convqa.text.analysis import analyzer_or_words

_MIN_SHARED = 0.5
"""Minimum share of common words in two statements about the same."""

_MAX_GAP = 6.0
"""Maximum distance of the scores of two statements that both answer."""

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_VERSION_WORDS = re.compile(
    r"\d+|\b(?:v|version|rev|old|new|draft|final|copy|jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|"
    r"aug(?:ust)?|sep(?:tember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|spring|summer|autumn|winter)\b|[\W_]+",
    re.I,
)


class Rival(NamedTuple):
    """A statement that differs from the one that is quoted. ``age``: Older or Later, "" if the order is unknown."""

    span: Span
    age: str

    def shown(self, text: str, passage: Passage) -> str:
        """Return the text with the name of its document."""
        file = PurePosixPath(str(passage.meta["file"])).name
        return f"{self.age} ({file}): {text}" if self.age else f"{file} says otherwise: {text}"


class _Statement(NamedTuple):
    """A span of a document. ``family``: the document's name without what tells versions apart."""

    span: Span
    file: str
    family: str
    date: str
    words: frozenset[str]
    numbers: frozenset[str]


def latest_first(
    spans: Sequence[Span],
    passages: Mapping[str, Passage],
    question: str,
    language: str,
) -> tuple[list[Span], Rival | None]:
    """Return the spans without statements that differ from the first, and the best of these.

    The first is that of the latest document, unless the question names the year of another. Spans that are not of
    documents are unchanged.

    :param spans: best first.
    """
    filed = [span for span in spans if span.passage_id in passages and "file" in passages[span.passage_id].meta]
    if not filed or filed[0] is not spans[0]:
        return list(spans), None
    best = _statement(spans[0], passages[spans[0].passage_id], language)
    asked = best.words.intersection(analyzer_or_words(language).content(question))
    rivals = []
    for span in filed[1:]:
        if best.span.score - span.score <= _MAX_GAP:
            other = _statement(span, passages[span.passage_id], language)
            is_about_same = best.family == other.family or (asked and asked <= other.words)
            if is_about_same and _differ(best, other):
                rivals.append(other)
    if not rivals:
        return list(spans), None
    dates = {statement.date for statement in (best, *rivals)}
    is_dated = "" not in dates and len(dates) > 1
    years = set(_YEAR.findall(question))
    first = best
    if is_dated and best.date[:4] not in years:
        first = max((best, *rivals), key=lambda statement: (statement.date, statement.span.score))
    second = best if first is not best else rivals[0]
    rival_spans = {statement.span for statement in rivals}
    others = [span for span in spans[1:] if span not in rival_spans]
    age = ""
    if is_dated and second.date != first.date:
        age = "Older" if second.date < first.date else "Later"
    return [replace(first.span, score=best.span.score), *others], Rival(second.span, age)


def _statement(span: Span, passage: Passage, language: str) -> _Statement:
    file = str(passage.meta["file"])
    stems = analyzer_or_words(language).content(span.text)
    numbers = frozenset(_NUMBER.findall(span.text))
    words = frozenset(stem for stem in stems if not any(map(str.isdigit, stem)))
    family = _VERSION_WORDS.sub("", PurePosixPath(file).stem).lower()
    date = str(passage.meta.get("date") or "") or "".join(_YEAR.findall(file)[:1])
    return _Statement(span, file, family, date, words, numbers)


def _differ(one: _Statement, other: _Statement) -> bool:
    """Return whether two statements say something different about the same."""
    if one.file == other.file or not one.words or not other.words:
        return False
    shared = len(one.words & other.words) / min(len(one.words), len(other.words))
    if shared < _MIN_SHARED:
        return False
    if one.family == other.family and one.family:
        return one.span.text != other.span.text
    has_two = len(one.words & other.words) > 1
    return has_two and bool(one.numbers and other.numbers) and one.numbers != other.numbers
