"""Score sentences by lexical match with the question and by their form, without a model.

The features and weights were chosen on the conversations with even numbers of INSCIT and MTRAG.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from convqa.domain import Passage, Rewrite
from convqa.text.analysis import analyzer
from convqa.text.idf import idf
from convqa.text.units import units

_DENSITY_WEIGHT = 0.5
"""Weight of the mean share of the question in the passage's sentences."""
_RANK_WEIGHT = 0.3
_POSITION_WEIGHT = 0.2
"""Weights of the passage's rank and of the sentence's position, which count 1, 1/2, 1/3 ..."""
_LENGTH_WEIGHT = 0.3
_FULL_LENGTH_TOKENS = 20
"""The weight of the length grows up to this many tokens: headings and fragments say little."""
_FRAGMENT_PENALTY = -0.2
"""For sentences without a closing mark."""
_QUESTION_PENALTY = -0.6
_MENU_PENALTY = -0.6
_MIN_STOPWORD_SHARE = 0.1
"""The penalty grows as the share of stop words falls below this: menus and product lists have few."""
_REPLY_SHARE = 0.8
"""Share of the score of a question that the sentence after it inherits, as in lists of questions and answers."""

_COMPARED_RANKS = 10

_CLOSING = frozenset(".!?\u2026\"'\u201d\u2019\u00bb)]\u3002\uff01\uff1f\u300d\u300f\uff09\u3011\u061f\u06d4\u0964")
_QUESTION_MARKS = frozenset("?\uff1f\u061f")


class QueryTokens(NamedTuple):
    """Token -> its share of the question, and token -> its weighted share of the history terms."""

    question: Mapping[str, float]
    terms: Mapping[str, float]


def query_tokens(rewrite: Rewrite, language: str) -> QueryTokens:
    question: dict[str, float] = {}
    terms: dict[str, float] = {}
    idf_of: dict[str, float] = {}
    for query in rewrite.queries:
        question.update(_content(query.text, language))
        for term, weight in query.terms:
            for token, value in _content(term, language):
                idf_of[token] = value
                terms[token] = max(terms.get(token, 0.0), weight * value)
    if not question:
        question, terms = terms, {}
    added = {token: value for token, value in terms.items() if token not in question}
    return QueryTokens(
        _shares(question, sum(question.values())),
        _shares(added, sum(idf_of[token] for token in added)),
    )


def _content(text: str, language: str) -> list[tuple[str, float]]:
    """Return the content words of a query: token and idf."""
    return [(stem, idf(word, language)) for word, stem in analyzer(language).content_words(text)]


def _shares(values: Mapping[str, float], total: float) -> dict[str, float]:
    return {token: value / total for token, value in values.items()} if total else {}


class UnitFeatures(NamedTuple):
    """The parts of a unit's score that do not depend on the question.

    ``below``: its tokens and those of its headings, introduction or header row. ``is_reply``: whether it follows a
    question.
    """

    start: int
    end: int
    tokens: frozenset[str]
    below: frozenset[str]
    score: float
    is_reply: bool


class PassageFeatures(NamedTuple):
    title: frozenset[str]
    units: tuple[UnitFeatures, ...]


def sentence_scores(
    passage: PassageFeatures,
    query: QueryTokens,
    rank: int,
) -> tuple[list[float], float]:
    """Return a score per sentence, and the largest share of the question in a sentence with the title.

    :param rank: the passage's index in the ranking.
    """
    if not passage.units:
        return [], 0.0
    # A word of the title counts for every sentence, because sentences rarely repeat it.
    title_share = sum(share for token, share in query.question.items() if token in passage.title)
    others = {token: share for token, share in query.question.items() if token not in passage.title}
    shares: list[float] = []
    for unit in passage.units:
        share = _summed(others, unit.below, title_share)
        if unit.is_reply:
            share = max(share, _REPLY_SHARE * shares[-1])
        shares.append(share)
    common = _DENSITY_WEIGHT * sum(shares) / len(shares) + _RANK_WEIGHT / (1 + rank)
    scores = []
    for unit, share in zip(passage.units, shares, strict=True):
        scores.append(_summed(query.terms, unit.below, unit.score + share + common))
    return scores, max(shares)


def _summed(
    shares: Mapping[str, float],
    tokens: frozenset[str],
    start: float,
) -> float:
    total = start
    for token, share in shares.items():
        if token in tokens:
            total += share
    return total


def repeated_share(unit: UnitFeatures, answers: Sequence[frozenset[str]]) -> float:
    """Return the share of a sentence's tokens in the most similar of the earlier answers, given as tokens."""
    counts = [len(unit.tokens & answer) for answer in answers]
    return max(counts, default=0) / max(1, len(unit.tokens))


@lru_cache(4096)
def analyzed(passage: Passage, language: str) -> PassageFeatures:
    analysis = analyzer(language)
    quotable = [unit for unit in units(passage, language) if unit.is_quotable]
    features: list[UnitFeatures] = []
    is_reply = False
    for index, unit in enumerate(quotable):
        text = passage.text[unit.start : unit.end]
        tokens = analysis.tokens(text)
        # A row has no closing mark, so it must not count as a fragment.
        last = "." if unit.kind == "row" else text[-1]
        score = _own_score(len(tokens), len(analysis.words(text)), index, last)
        own = frozenset(tokens)
        below = own.union(analysis.tokens(f"{unit.heading}\n{unit.context}"))
        features.append(UnitFeatures(unit.start, unit.end, own, below, score, is_reply))
        is_reply = text[-1] in _QUESTION_MARKS
    return PassageFeatures(frozenset(analysis.tokens(passage.title)), tuple(features))


def _own_score(tokens: int, words: int, index: int, last: str) -> float:
    """Return the score of a sentence alone; ``tokens``: its words without stop words, ``last``: its last character."""
    form = 0.0
    if last in _QUESTION_MARKS:
        form += _QUESTION_PENALTY
    if last not in _CLOSING:
        form += _FRAGMENT_PENALTY
    stopword_share = (words - tokens) / words if words else 0.0
    menu = _MENU_PENALTY * max(0.0, 1 - stopword_share / _MIN_STOPWORD_SHARE)
    length = _LENGTH_WEIGHT * min(tokens, _FULL_LENGTH_TOKENS) / _FULL_LENGTH_TOKENS
    return _POSITION_WEIGHT / (1 + index) + length + form + menu


class SentenceEvidence(NamedTuple):
    """The evidence that a sentence answers.

    ``words``: lexical score (:func:`sentence_scores`). ``behind``: distance of its passage to the first
    (:func:`behind`). ``opening``: 1 for the first sentence of a passage, then 1/2, 1/3 ... ``repeated``: share of its
    content words in an earlier answer. ``cosine``: of the question and the sentence with its title, None without an
    encoder.
    """

    words: float
    behind: float
    opening: float = 0.0
    repeated: float = 0.0
    cosine: float | None = None


class Curve(NamedTuple):
    """A logistic regression on the evidence."""

    offset: float
    words: float
    behind: float = 0.0
    opening: float = 0.0
    repeated: float = 0.0
    cosine: float = 0.0

    def __call__(self, evidence: SentenceEvidence) -> float:
        """Return the probability.

        >>> round(Curve(offset=-1.0, words=0.5, behind=-1.0)(SentenceEvidence(words=2.0, behind=0.0)), 3)
        0.5
        """
        logit = self.offset + self.words * evidence.words + self.behind * evidence.behind
        logit += (
            self.opening * evidence.opening + self.repeated * evidence.repeated + self.cosine * (evidence.cosine or 0.0)
        )
        return 1 / (1 + math.exp(-logit))


BY_WORDS = Curve(offset=-1.74, words=0.91)
BY_BOTH = Curve(
    offset=-1.82,
    words=0.61,
    behind=-0.25,
    opening=0.21,
    repeated=-0.28,
    cosine=0.91,
)
"""Fitted on the even conversations of inscit_dev and mtrag_un by benchmarks/sentence_scoring.py. The lexical curve
ignores the ranking's scores, because BM25 counts the same words (docs/reference/reading.md)."""


def behind(scores: Sequence[float]) -> list[float]:
    """Return how far hits are behind the first, as a share of the distance from the first to the tenth, 0 to 1.

    With fewer than ten hits, the distance of the last one is scaled by its rank.

    >>> behind([9.0, 8.0])
    [0.0, 0.1111111111111111]
    >>> behind([1.0] * 3)
    [0.0, 0.0, 0.0]
    """
    last = min(len(scores), _COMPARED_RANKS) - 1
    if last < 0 or scores[0] <= scores[last]:
        return [0.0] * len(scores)
    width = scores[0] - scores[last]
    part = last / (_COMPARED_RANKS - 1)
    return [min(1.0, part * (scores[0] - score) / width) for score in scores]


def expected(evidence: SentenceEvidence) -> float:
    """Return the probability that a sentence answers, by words and vectors, or by words alone without a cosine."""
    curve = BY_WORDS if evidence.cosine is None else BY_BOTH
    return curve(evidence)
