"""Score sentences by lexical match with the question and by their form, without a model.

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
"""Weight of the mean share of the question in the passage's sentences."""
_RANK = 0.3
_OPENING = 0.2
"""Weights of the passage's rank and of the sentence's position, which count 1, 1/2, 1/3 ..."""
_LENGTH, _LONG = 0.3, 20
"""Weight of the length, up to this many tokens: headings and fragments say little."""
_FRAGMENT, _ASKS = -0.2, -0.6
"""For sentences without a closing mark, and for questions."""
_MENU, _PROSE = -0.6, 0.1
"""Penalty that grows as the share of stop words falls below this: menus and product lists have few."""
_REPLY = 0.8
"""Share of the score of a question that the sentence after it inherits, as in lists of questions and answers."""

_TENTH = 10

_CLOSING = frozenset(".!?\u2026\"'\u201d\u2019\u00bb)]\u3002\uff01\uff1f\u300d\u300f\uff09\u3011\u061f\u06d4\u0964")
_ASKING = frozenset("?\uff1f\u061f")


@dataclass(frozen=True, slots=True)
class QueryTokens:
    """Token -> its share of the question, and token -> its weighted share of the history terms."""

    question: Mapping[str, float]
    terms: Mapping[str, float]


def query_tokens(rewrite: Rewrite, language: str) -> QueryTokens:
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
    added = [token for token in terms if token not in question]
    return QueryTokens(
        _shares(question, sum(question.values())),
        _shares({token: terms[token] for token in added}, sum(rarity[token] for token in added)),
    )


def _content(text: str, language: str) -> Iterator[tuple[str, float]]:
    """Yield the content words of a query: token and idf."""
    return ((stem, idf(word, language)) for word, stem in analyzer(language).content_words(text))


def _shares(values: Mapping[str, float], total: float) -> dict[str, float]:
    return {token: value / total for token, value in values.items()} if total else {}


@dataclass(frozen=True, slots=True)
class AnalyzedPassage:
    """The parts of a passage's score that do not depend on the question.

    ``offsets``, ``sizes`` (distinct tokens) and ``worth`` (score) of each sentence. ``holders``: token -> indexes of
    the sentences with it. ``replies``: indexes of the sentences that follow a question.
    """

    offsets: tuple[tuple[int, int], ...]
    sizes: tuple[int, ...]
    holders: Mapping[str, tuple[int, ...]]
    title: frozenset[str]
    worth: tuple[float, ...]
    replies: tuple[int, ...]


def sentence_scores(passage: AnalyzedPassage, query: QueryTokens, rank: int) -> tuple[list[float], float]:
    """Return a score per sentence, and the largest share of the question in a sentence with the title.

    :param rank: the passage's index in the ranking.
    """
    if not passage.offsets:
        return [], 0.0
    # A word of the title counts for every sentence, because sentences rarely repeat it.
    titled = sum(share for token, share in query.question.items() if token in passage.title)
    shares = [titled] * len(passage.offsets)
    for token, share in query.question.items():
        if token not in passage.title:
            for index in passage.holders.get(token, ()):
                shares[index] += share
    for index in passage.replies:
        shares[index] = max(shares[index], _REPLY * shares[index - 1])
    common = _DENSITY * sum(shares) / len(shares) + _RANK / (1 + rank)
    scores = [worth + share + common for worth, share in zip(passage.worth, shares, strict=True)]
    for token, share in query.terms.items():
        for index in passage.holders.get(token, ()):
            scores[index] += share
    return scores, max(shares)


def answered_shares(passage: AnalyzedPassage, answers: Sequence[frozenset[str]]) -> list[float]:
    """Return per sentence the share of its tokens in the most similar of the answers, given as tokens."""
    shares = [0.0] * len(passage.offsets)
    for answer in answers:
        counts = [0] * len(shares)
        for token in answer:
            for index in passage.holders.get(token, ()):
                counts[index] += 1
        shares = [max(share, count / max(1, size))
                  for share, count, size in zip(shares, counts, passage.sizes, strict=True)]  # fmt: skip
    return shares


@remembered(4096)
def analyzed(title: str, text: str, language: str) -> AnalyzedPassage:
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
    frozen = {token: tuple(indexes) for token, indexes in holders.items()}
    replies = tuple(index for index, (_, end) in enumerate(offsets[:-1], 1) if text[end - 1] in _ASKING)
    return AnalyzedPassage(offsets, tuple(sizes), frozen, frozenset(analysis.tokens(title)), tuple(worth), replies)


def _worth(tokens: int, words: int, index: int, last: str) -> float:
    """Return the score of a sentence alone; ``tokens``: its words without stop words, ``last``: its last character."""
    form = (_ASKS if last in _ASKING else 0.0) + (0.0 if last in _CLOSING else _FRAGMENT)
    prose = (words - tokens) / words if words else 0.0
    menu = _MENU * max(0.0, 1 - prose / _PROSE)
    return _OPENING / (1 + index) + _LENGTH * min(tokens, _LONG) / _LONG + form + menu


class Evidence(NamedTuple):
    """The evidence that a sentence answers.

    ``words``: lexical score (:func:`sentence_scores`). ``behind``: distance of its passage to the first
    (:func:`behind`). ``opening``: 1 for the first sentence of a passage, then 1/2, 1/3 ... ``said``: share of its
    content words in an earlier answer. ``cosine``: of the question and the sentence with its title, None without an
    encoder.
    """

    words: float
    behind: float
    opening: float = 0.0
    said: float = 0.0
    cosine: float | None = None


class Curve(NamedTuple):
    """A logistic regression on the evidence."""

    offset: float
    words: float
    behind: float = 0.0
    opening: float = 0.0
    said: float = 0.0
    cosine: float = 0.0

    def __call__(self, evidence: Evidence) -> float:
        """Return the probability.

        >>> round(Curve(offset=-1.0, words=0.5, behind=-1.0)(Evidence(words=2.0, behind=0.0)), 3)
        0.5
        """
        logit = self.offset + self.words * evidence.words + self.behind * evidence.behind
        logit += self.opening * evidence.opening + self.said * evidence.said + self.cosine * (evidence.cosine or 0.0)
        return 1 / (1 + math.exp(-logit))


BY_WORDS = Curve(offset=-1.74, words=0.91)
BY_BOTH = Curve(offset=-1.82, words=0.61, behind=-0.25, opening=0.21, said=-0.28, cosine=0.91)
"""Fitted on the even conversations of inscit_dev and mtrag_un by benchmarks/builders.py curves. The lexical curve
ignores the ranking's scores, because BM25 counts the same words (docs/reference/reading.md)."""


def behind(scores: Sequence[float]) -> list[float]:
    """Return how far hits are behind the first, as a share of the distance from the first to the tenth, 0 to 1.

    With fewer than ten hits, the distance of the last one is scaled by its rank.

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
    """Return the probability that a sentence answers, by words and vectors, or by words alone without a cosine."""
    return BY_WORDS(evidence) if evidence.cosine is None else BY_BOTH(evidence)
