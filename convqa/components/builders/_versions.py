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

_MIN_ASKED = 0.7
"""Minimum share of the question's words in the quoted statement that another statement about the same has too."""

_MAX_GAP = 6.0
"""Maximum distance of the scores of two statements that both answer."""

_HEAD_CHARS = 300
"""Length of the beginning of a document that may date it."""

_NUMBER = re.compile(
    r"\d+(?:[.,:]\d+)*|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|"
    r"zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf)\b",
    re.I,
)
_MONTHS = ("jan", "feb", "mar mär", "apr", "may mai", "jun", "jul", "aug", "sep", "oct okt", "nov", "dec dez")
"""The first three letters of each month, in English and in German."""

_MONTH = (
    r"jan(?:uary?)?|feb(?:ruary?)?|mar(?:ch)?|märz|apr(?:il)?|ma[iy]|jun[ei]?|jul[iy]?|aug(?:ust)?|"
    r"sept?(?:ember)?|o[ck]t(?:ober)?|nov(?:ember)?|de[cz](?:ember)?"
)
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_WORDED_DATE = re.compile(
    rf"(?:\b(\d\d?)[a-z.]*[\W_]+(?:of )?)?(?<![^\W_])({_MONTH})[\W_]+(?:(\d\d?)[\W_]+)?({_YEAR.pattern})"
)
_AGE = re.compile(
    rf"(?<![a-z])(?:v|version|rev|revision|edition)[\W_]{{0,2}}\d{{1,3}}(?!\d)(?:\.\d+)*|"
    rf"{_YEAR.pattern}(?:[-_.]\d\d?(?!\d)){{0,2}}|(?<!\d)(?:19|20)\d{{6}}(?!\d)"
)
"""A version or a date that begins with the year."""

_VERSION_WORDS = re.compile(
    rf"\d+|\b(?:v|version|rev|old|new|draft|final|copy|{_MONTH}|spring|summer|autumn|winter)\b|[\W_]+",
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
    """A span of a document. ``family``, ``title``: its names without what tells versions apart.

    ``age``: its dates and versions, greater if later: those of its names, then its properties, then its beginning.
    """

    span: Span
    file: str
    family: str
    title: str
    age: str
    words: frozenset[str]
    numbers: frozenset[str]


def latest_first(
    spans: Sequence[Span],
    passages: Mapping[str, Passage],
    question: str,
    language: str,
) -> tuple[list[Span], Rival | None]:
    """Return the spans without those of documents that differ from the first, and the best statement of these.

    The first is that of the latest document, unless the question names the year of another. Spans that are not of
    documents are unchanged.

    :param spans: best first.
    """
    filed = [span for span in spans if span.passage_id in passages and "file" in passages[span.passage_id].meta]
    if not filed or filed[0] is not spans[0]:
        return list(spans), None
    best = _statement(spans[0], passages, language)
    asked = best.words.intersection(analyzer_or_words(language).content(question))
    statements = [best]
    for span in filed[1:]:
        if best.span.score - span.score <= _MAX_GAP:
            other = _statement(span, passages, language)
            has_asked = len(asked & other.words) >= _MIN_ASKED * len(asked) if asked else best.title == other.title
            if (best.family == other.family or has_asked) and _differ(best, other):
                statements.append(other)
    if len(statements) == 1:
        return list(spans), None
    of_year = [statement for statement in statements if statement.age[:4] in _YEAR.findall(question)]
    dated = statements if all(statement.age for statement in statements) else [best]
    first = max(of_year or dated, key=lambda statement: (statement.age, statement.span.score))
    second = best if first is not best else statements[1]
    left_out = {statement.file for statement in statements} - {first.file}
    others = [span for span in spans if span not in filed or passages[span.passage_id].meta["file"] not in left_out]
    others.remove(first.span)
    age = ""
    if first.age and second.age and second.age != first.age:
        age = "Older" if second.age < first.age else "Later"
    return [replace(first.span, score=best.span.score), *others], Rival(second.span, age)


def _statement(span: Span, passages: Mapping[str, Passage], language: str) -> _Statement:
    passage = passages[span.passage_id]
    file = str(passage.meta["file"])
    content = analyzer_or_words(language).content(span.text)
    words = frozenset(stem for stem in content if not _NUMBER.search(stem))
    family, title = (_VERSION_WORDS.sub("", name).lower() for name in (PurePosixPath(file).stem, passage.title))
    beginning = "".join(
        other.text[:_HEAD_CHARS]
        for other in passages.values()
        if other.meta.get("file") == file and not other.meta.get("start")
    )
    age = _age(f"{file} {passage.title} {passage.meta.get('date')} {beginning}")
    return _Statement(span, file, family, title, age, words, frozenset(_NUMBER.findall(span.text)))


def _age(text: str) -> str:
    """Return the dates and versions in a text, eight digits each: 20250331, 20250000, 14000000 for 1.4."""
    dated = _WORDED_DATE.sub(_in_digits, text.lower())
    return "".join(re.sub(r"\D", "", sign).ljust(8, "0") for sign in _AGE.findall(dated))


def _in_digits(date: re.Match[str]) -> str:
    """Return a date with its month as a word as 20250331, without a day as 20250300."""
    month = next(number for number, names in enumerate(_MONTHS, 1) if date[2][:3] in names)
    day = date[1] or date[3] or ""
    return f"{date[4]}{month:02}{day:0>2}"


def _differ(one: _Statement, other: _Statement) -> bool:
    """Return whether two statements say something different about the same."""
    shared = len(one.words & other.words)
    if one.file == other.file or shared < max(1, _MIN_SHARED * min(len(one.words), len(other.words))):
        return False
    if one.family == other.family and one.family:
        return one.span.text != other.span.text
    is_another = any(own and its and own != its for own, its in zip(_kinds(one), _kinds(other), strict=True))
    return shared > 1 and is_another


def _kinds(statement: _Statement) -> tuple[frozenset[str], frozenset[str]]:
    """Return the times of day in a statement, and its other numbers."""
    times = frozenset(number for number in statement.numbers if ":" in number)
    return times, statement.numbers - times
