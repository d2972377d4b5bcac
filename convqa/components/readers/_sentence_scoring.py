"""Score sentences by lexical match with the question and by their form, without a model.

The features and weights were chosen on the conversations with even numbers of INSCIT and MTRAG; the
results on the others are in docs/benchmarks/answers.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from convqa.domain import Passage, Rewrite
from convqa.text.analysis import analyzer
from convqa.text.cache import remembered
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

_OFFSET = -1.74
_SCALE = 0.91
"""Of the logistic, fitted on the even conversations of inscit_dev and mtrag_un."""

_COMPARED_RANKS = 10

_CLOSING = frozenset(".!?\u2026\"'\u201d\u2019\u00bb)]\u3002\uff01\uff1f\u300d\u300f\uff09\u3011\u061f\u06d4\u0964")
_QUESTION_MARKS = frozenset("?\uff1f\u061f")


@dataclass(frozen=True, slots=True)
class QueryTokens:
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


@dataclass(frozen=True, slots=True)
class PassageFeatures:
    """The parts of a passage's score that do not depend on the question.

    For each unit, ``offsets`` and ``scores``. ``below``: token -> indexes of the units that have it, or whose headings,
    introduction or header row do. ``replies``: indexes of the units that follow a question.
    """

    offsets: tuple[tuple[int, int], ...]
    below: Mapping[str, tuple[int, ...]]
    title: frozenset[str]
    scores: tuple[float, ...]
    replies: tuple[int, ...]


def sentence_scores(passage: PassageFeatures, query: QueryTokens, rank: int) -> tuple[list[float], float]:
    """Return a score per sentence, and the largest share of the question in a sentence with the title.

    :param rank: the passage's index in the ranking.
    """
    if not passage.offsets:
        return [], 0.0
    # A word of the title counts for every sentence, because sentences rarely repeat it.
    title_share = sum(share for token, share in query.question.items() if token in passage.title)
    shares = [title_share] * len(passage.offsets)
    for token, share in query.question.items():
        if token not in passage.title:
            for index in passage.below.get(token, ()):
                shares[index] += share
    for index in passage.replies:
        shares[index] = max(shares[index], _REPLY_SHARE * shares[index - 1])
    common = _DENSITY_WEIGHT * sum(shares) / len(shares) + _RANK_WEIGHT / (1 + rank)
    scores = [own + share + common for own, share in zip(passage.scores, shares, strict=True)]
    for token, share in query.terms.items():
        for index in passage.below.get(token, ()):
            scores[index] += share
    return scores, max(shares)


@remembered(4096)
def analyzed(passage: Passage, language: str) -> PassageFeatures:
    analysis = analyzer(language)
    quotable = [unit for unit in units(passage, language) if unit.is_quotable]
    below: dict[str, list[int]] = {}
    scores = []
    replies = []
    for index, unit in enumerate(quotable):
        text = passage.text[unit.start : unit.end]
        tokens = analysis.tokens(text)
        # A row is no sentence, and is not judged by its form.
        last = "." if unit.kind == "row" else text[-1]
        scores.append(_own_score(len(tokens), len(analysis.words(text)), index, last))
        for token in set(tokens).union(analysis.tokens(f"{unit.heading}\n{unit.context}")):
            below.setdefault(token, []).append(index)
        if index and passage.text[quotable[index - 1].end - 1] in _QUESTION_MARKS:
            replies.append(index)
    return PassageFeatures(
        tuple((unit.start, unit.end) for unit in quotable),
        {token: tuple(indexes) for token, indexes in below.items()},
        frozenset(analysis.tokens(passage.title)),
        tuple(scores),
        tuple(replies),
    )


def _own_score(
    tokens: int,
    words: int,
    index: int,
    last: str,
) -> float:
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


def expected(score: float) -> float:
    """Return the expected share of a sentence's words in a right answer, a logistic of its score.

    >>> round(expected(2.0), 2)
    0.52
    """
    return 1 / (1 + math.exp(-(_OFFSET + _SCALE * score)))
