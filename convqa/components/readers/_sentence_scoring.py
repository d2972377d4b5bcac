"""Scores of sentences by lexical match with the question and by their form, without a model.

The features and weights were chosen on the conversations with even numbers of INSCIT and MTRAG; the
results on the others are in docs/benchmarks/answers.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from convqa.domain import Rewrite
from convqa.text.analysis import analyzer
from convqa.text.cache import remembered
from convqa.text.idf import idf
from convqa.text.sentences import sentences

_DENSITY = 0.5
"""Of the mean share of the question that the passage's sentences have."""
_RANK = 0.3
_OPENING = 0.2
"""Rank and opening fall off as 1, 1/2, 1/3 ..., over the passages and over the sentences of one."""
_LENGTH, _LONG = 0.3, 20
"""Grows with the number of tokens up to this many: headings and fragments say little."""
_FRAGMENT, _ASKS = -0.2, -0.6
"""Sentences without a closing mark, and those that ask."""
_MENU, _PROSE = -0.6, 0.1
"""Grows with what lacks to this share of stop words: menus and lists of products have few."""
_REPLY = 0.8
"""A sentence has this much of what the sentence before it asks: lists of questions and answers repeat only the one."""

_TENTH = 10

_CLOSING = frozenset(".!?\u2026\"'\u201d\u2019\u00bb)]\u3002\uff01\uff1f\u300d\u300f\uff09\u3011\u061f\u06d4\u0964")
_ASKING = frozenset("?\uff1f\u061f")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Words to look for: token -> its share of the question, and token -> its weighted share of the history terms."""

    question: Mapping[str, float]
    terms: Mapping[str, float]


def wanted_of(rewrite: Rewrite, language: str) -> Wanted:
    question: dict[str, float] = {}
    terms: dict[str, float] = {}
    rarity: dict[str, float] = {}
    for query in rewrite.queries:
        question.update((token, value) for token, value in _content(query.text, language))
        for term, weight in query.terms:
            for token, value in _content(term, language):
                rarity[token] = value
                terms[token] = max(terms.get(token, 0.0), weight * value)
    if not question:
        question, terms = terms, {}
    fresh = [token for token in terms if token not in question]
    return Wanted(
        _shares(question, sum(question.values())),
        _shares({token: terms[token] for token in fresh}, sum(rarity[token] for token in fresh)),
    )


def _content(text: str, language: str) -> Iterator[tuple[str, float]]:
    """The content words of a query: token and idf."""
    return ((stem, idf(word, language)) for word, stem in analyzer(language).content_words(text))


def _shares(values: Mapping[str, float], total: float) -> dict[str, float]:
    return {token: value / total for token, value in values.items()} if total else {}


@dataclass(frozen=True, slots=True)
class Marked:
    """A passage, ready to be scored.

    ``sizes``: how many different tokens each sentence has. ``holders`` are the sentences that have a token, ``worth``
    what speaks for each whatever the question; ``replies`` come after a sentence that asks.
    """

    offsets: tuple[tuple[int, int], ...]
    sizes: tuple[int, ...]
    holders: Mapping[str, tuple[int, ...]]
    title: frozenset[str]
    worth: tuple[float, ...]
    replies: tuple[int, ...]


def scored(marked: Marked, wanted: Wanted, place: int) -> tuple[list[float], float]:
    """A score for each sentence, and the largest share of the question that a sentence has with the title."""
    if not marked.offsets:
        return [], 0.0
    # A word of the title counts for every sentence: none repeats what the whole passage is about.
    titled = sum(share for token, share in wanted.question.items() if token in marked.title)
    shares = [titled] * len(marked.offsets)
    for token, share in wanted.question.items():
        if token not in marked.title:
            for index in marked.holders.get(token, ()):
                shares[index] += share
    for index in marked.replies:
        shares[index] = max(shares[index], _REPLY * shares[index - 1])
    passage = _DENSITY * sum(shares) / len(shares) + _RANK / (1 + place)
    scores = [worth + share + passage for worth, share in zip(marked.worth, shares, strict=True)]
    for token, share in wanted.terms.items():
        for index in marked.holders.get(token, ()):
            scores[index] += share
    return scores, max(shares)


def said(marked: Marked, answers: Sequence[frozenset[str]]) -> list[float]:
    """For each sentence the share of its tokens that the answer nearest to it has; ``answers`` are tokens."""
    shares = [0.0] * len(marked.offsets)
    for answer in answers:
        shared = [0] * len(shares)
        for token in answer:
            for index in marked.holders.get(token, ()):
                shared[index] += 1
        shares = [
            max(known, part / max(1, size)) for known, part, size in zip(shares, shared, marked.sizes, strict=True)
        ]
    return shares


@remembered(4096)
def marked_of(title: str, text: str, language: str) -> Marked:
    analysis = analyzer(language)
    offsets = tuple(sentences(text, language))
    holders: dict[str, list[int]] = {}
    worth, sizes = [], []
    for index, (start, end) in enumerate(offsets):
        tokens = analysis.tokens(text[start:end])
        worth.append(_worth(len(tokens), len(analysis.words(text[start:end])), index, text[end - 1]))
        own = set(tokens)
        sizes.append(len(own))
        for token in own:
            holders.setdefault(token, []).append(index)
    listed = {token: tuple(indices) for token, indices in holders.items()}
    replies = tuple(index for index, (_, end) in enumerate(offsets[:-1], 1) if text[end - 1] in _ASKING)
    return Marked(offsets, tuple(sizes), listed, frozenset(analysis.tokens(title)), tuple(worth), replies)


def _worth(tokens: int, words: int, index: int, last: str) -> float:
    """The score of a sentence alone; ``tokens`` are its words but for stop words, ``last`` is its last sign."""
    form = (_ASKS if last in _ASKING else 0.0) + (0.0 if last in _CLOSING else _FRAGMENT)
    prose = (words - tokens) / words if words else 0.0
    menu = _MENU * max(0.0, 1 - prose / _PROSE)
    return _OPENING / (1 + index) + _LENGTH * min(tokens, _LONG) / _LONG + form + menu


class Evidence(NamedTuple):
    """The score of a sentence.

    ``words``: its lexical score (:func:`scored`). ``behind``: how far its passage is behind the first. ``opening``: 1
    for the first sentence of its passage, then 1/2, 1/3 ... ``said``: the share of its content words that an earlier
    answer of the conversation has. ``cosine``: of its vector, with the title of its passage, and the question's; None
    where there is none.
    """

    words: float
    behind: float
    opening: float = 0.0
    said: float = 0.0
    cosine: float | None = None


class Curve(NamedTuple):
    """A logistic of the evidence: each of its parts times its weight here, and the offset."""

    offset: float
    words: float
    behind: float = 0.0
    opening: float = 0.0
    said: float = 0.0
    cosine: float = 0.0

    def __call__(self, evidence: Evidence) -> float:
        """0 to 1.

        >>> round(Curve(offset=-1.0, words=0.5, behind=-1.0)(Evidence(words=2.0, behind=0.0)), 3)
        0.5
        """
        logit = self.offset + self.words * evidence.words + self.behind * evidence.behind
        logit += self.opening * evidence.opening + self.said * evidence.said + self.cosine * (evidence.cosine or 0.0)
        return 1 / (1 + math.exp(-logit))


BY_WORDS = Curve(offset=-1.74, words=0.91)
BY_BOTH = Curve(offset=-1.82, words=0.61, behind=-0.25, opening=0.21, said=-0.28, cosine=0.91)
"""Fitted on the conversations of even number of inscit_dev and mtrag_un: benchmarks/builders.py curves. Words alone do
not look at the ranking's scores: those of BM25, which count the same words, mislead (docs/reference/reading.md)."""


def behind(scores: Sequence[float]) -> list[float]:
    """How far hits are behind the first, as a share of the distance from it to the tenth: 0 to 1, on any scale.

    Of fewer than ten hits the last counts by its rank: that one of two is the last says little.

    >>> behind([9.0, 8.0])
    [0.0, 0.1111111111111111]
    >>> behind([1.0] * 3)
    [0.0, 0.0, 0.0]
    """
    last = min(len(scores), _TENTH) - 1
    width = scores[0] - scores[last] if scores else 0.0
    part = last / (_TENTH - 1)
    return [min(1.0, part * (scores[0] - score) / width) if width > 0 else 0.0 for score in scores]


def expected(evidence: Evidence) -> float:
    """By words and vectors where there is a cosine, else by words alone."""
    return BY_WORDS(evidence) if evidence.cosine is None else BY_BOTH(evidence)
