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

_NAME_FACTOR = 1.5
_FIRST_QUESTION_FACTOR = 1.5
_LAST_EXCHANGE_FACTOR = 1.25
_ANSWER_FACTOR = 0.5
_MAX_EXCHANGES = 200
"""Maximum number of exchanges, in addition to the first one; earlier ones have another topic."""
_CONVERSATIONAL = lexicon.CONVERSATIONAL | german.CONVERSATIONAL


class HistoryWord(NamedTuple):
    """A content word. ``score`` ignores its position in the history; a name is capitalized inside a sentence."""

    stem: str
    written: str
    score: float
    is_name: bool


@member
class Expansion(Rewriter):
    """Add the ``terms`` best words of the history to the question, each with ``weight``.

    A word's score is the sum over its occurrences of idf (at most 8) x 1 in a question or .5 in an answer x 1.5 for a
    name x 1.5 in the first question x 1.25 in the last exchange. All content words of questions are candidates, and
    the names in answers: capitalized words inside a sentence. This follows historical query expansion (Yang et al.,
    CAsT 2019; Vakulenko et al., ECIR 2021), without its two thresholds on scores of the collection.

    Weighted terms raise recall and keep the top of the ranking, which terms with full weight would ruin.

    Example::

        rewriter: {type: expansion, init_parameters: {terms: 5, weight: 0.3}}

    :param terms: number of words.
    :param weight: weight of a term, relative to a word of the question.
    """

    terms: Annotated[int, Field(ge=0)] = 5
    weight: Annotated[float, Field(gt=0, le=10)] = 0.3

    def rewrite(self, turn: Turn) -> Rewrite:
        question = open_question(turn)
        words = history_words(turn, question, self.terms)
        text = " ".join([question.rstrip(), *words]) if words else question
        terms = tuple((word, self.weight) for word in words)
        return Rewrite(text, (Query(question, terms),))


def history_words(turn: Turn, question: str, count: int) -> list[str]:
    """Return the ``count`` best words of the history that the question lacks, in order of first occurrence."""
    question_stems = set(analyzer(turn.language).tokens(question))
    scores: dict[str, float] = {}
    written: dict[str, str] = {}
    for word, factor in _candidates(turn):
        if word.stem not in question_stems:
            scores[word.stem] = scores.get(word.stem, 0.0) + word.score * factor
            written.setdefault(word.stem, word.written)
    ranked = sorted(scores, key=lambda stem: (-scores[stem], stem))
    best = set(ranked[:count])
    return [written[stem] for stem in scores if stem in best]


def _candidates(turn: Turn) -> Iterator[tuple[HistoryWord, float]]:
    """Yield the words of the history with the factors of their positions, oldest first."""
    history = [exchange for exchange in first_and_latest(turn.history, _MAX_EXCHANGES) if not blank(exchange)]
    for index, exchange in enumerate(history):
        factor = _LAST_EXCHANGE_FACTOR if index == len(history) - 1 else 1.0
        question_factor = factor * (_FIRST_QUESTION_FACTOR if index == 0 else 1.0)
        for word in _content_words(exchange.question, turn.language):
            yield word, question_factor
        for word in _content_words(exchange.answer, turn.language):
            if exchange.status == "asked":
                yield word, factor
            elif word.is_name:
                yield word, factor * _ANSWER_FACTOR
    if turn.history and turn.history[-1].status == "asked":
        for word in _content_words(turn.question, turn.language):
            yield word, _LAST_EXCHANGE_FACTOR


@lru_cache(maxsize=8192)
def _content_words(text: str, language: str) -> tuple[HistoryWord, ...]:
    """Return the words of a text without stop words, their contractions and conversational words."""
    analysis = analyzer(language)
    sentence_starts = {start for start, _ in sentences(text, language)}
    words = []
    for word, start in placed(text, language):
        plain = word.replace("\u2019", "'")
        # I'm and don't are stop words, too.
        is_stopword = plain.partition("'")[0] in analysis.long_stopwords or plain.endswith("n't")
        if len(word) == 1 or is_stopword or plain in _CONVERSATIONAL:
            continue
        written = text[start : start + len(word)]
        is_name = written[0].isupper() and start not in sentence_starts
        score = idf(word, language)
        if is_name:
            score *= _NAME_FACTOR
        words.append(
            HistoryWord(
                analysis.stem(word),
                written,
                score,
                is_name,
            )
        )
    return tuple(words)
