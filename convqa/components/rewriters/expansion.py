"""Adds the best words of the history to the question as weighted query terms, without a model or a collection."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated, NamedTuple

from pydantic import Field

from convqa.components.base import Rewriter
from convqa.components.history import blank, first_and_latest
from convqa.components.members import member
from convqa.domain import Query, Rewrite, Turn
from convqa.text import german
from convqa.text.analysis import analyzer, placed
from convqa.text.dialogue import open_question
from convqa.text.english import lexicon
from convqa.text.idf import idf
from convqa.text.sentences import sentences

_CAPITALISED, _FIRST, _LAST = 1.5, 1.5, 1.25
_ANSWER = 0.5
_REACH = 200
"""Maximum number of exchanges, in addition to the first one; earlier ones have another topic."""
_CONVERSATIONAL = lexicon.CONVERSATIONAL | german.CONVERSATIONAL


class Word(NamedTuple):
    """A content word. ``score`` ignores its position in the history; a ``name`` is capitalized inside a sentence."""

    stem: str
    written: str
    score: float
    name: bool


@member
class Expansion(Rewriter):
    """Add the ``terms`` best words of the history to the question, each with ``weight``.

    A word's score is the sum over its occurrences of idf (at most 8) x 1 in a question or .5 in an answer x 1.5 for a
    name x 1.5 in the first question x 1.25 in the last exchange. All content words of questions are candidates, and
    the names in answers: capitalized words inside a sentence. This follows historical query expansion (Yang et al.,
    CAsT 2019; Vakulenko et al., ECIR 2021), without its two thresholds on scores of the collection.

    Weighted terms raise recall and keep the top of the ranking, which terms with full weight would ruin.

    :param terms: number of words. :param weight: weight of a term, relative to a word of the question.
    """

    terms: Annotated[int, Field(ge=0)] = 5
    weight: Annotated[float, Field(gt=0, le=10)] = 0.3

    def rewrite(self, turn: Turn) -> Rewrite:
        question = open_question(turn)
        chosen = history_terms(turn, question, self.terms)
        text = " ".join([question.rstrip(), *chosen]) if chosen else question
        return Rewrite(text, (Query(question, tuple((term, self.weight) for term in chosen)),))


def history_terms(turn: Turn, question: str, most: int) -> list[str]:
    """Return the ``most`` best words of the history that the question lacks, in order of first occurrence."""
    known = set(analyzer(turn.language).tokens(question))
    scores: dict[str, float] = {}
    written: dict[str, str] = {}
    for word, factor in _history_words(turn):
        if word.stem not in known:
            scores[word.stem] = scores.get(word.stem, 0.0) + word.score * factor
            written.setdefault(word.stem, word.written)
    best = set(sorted(scores, key=lambda stem: (-scores[stem], stem))[:most])
    return [written[stem] for stem in scores if stem in best]


def _history_words(turn: Turn) -> Iterator[tuple[Word, float]]:
    """Yield the words of the history with the factors of their positions, oldest first."""
    history = [exchange for exchange in first_and_latest(turn.history, _REACH) if not blank(exchange)]
    for index, exchange in enumerate(history):
        last = _LAST if index == len(history) - 1 else 1.0
        asked = exchange.status == "asked"
        for word in _content_words(exchange.question, turn.language):
            yield word, last * (_FIRST if index == 0 else 1.0)
        for word in _content_words(exchange.answer, turn.language):
            if asked or word.name:
                yield word, last if asked else last * _ANSWER
    if turn.history and turn.history[-1].status == "asked":
        for word in _content_words(turn.question, turn.language):
            yield word, _LAST


@lru_cache(maxsize=8192)
def _content_words(text: str, language: str) -> tuple[Word, ...]:
    """Return the words of a text without stop words, their contractions and conversational words."""
    analysis = analyzer(language)
    starts = {start for start, _ in sentences(text, language)}
    words = []
    for word, start in placed(text, language):
        plain = word.replace("\u2019", "'")
        stop = plain.partition("'")[0] in analysis.long_stopwords or plain.endswith("n't")  # I'm, don't
        if len(word) > 1 and not stop and plain not in _CONVERSATIONAL:
            written = text[start : start + len(word)]
            name = written[0].isupper() and start not in starts
            score = idf(word, language) * (_CAPITALISED if name else 1.0)
            words.append(Word(analysis.stem(word), written, score, name))
    return tuple(words)
