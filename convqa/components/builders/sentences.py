"""Builds answers of whole sentences, each with its citation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Annotated

from pydantic import Field

from convqa.components.base import Builder
from convqa.components.checks import nothing
from convqa.components.history import MAX_EXCHANGES
from convqa.components.members import member
from convqa.domain import TOLD, Answer, Citation, Ranking, Reading, Rewrite, Sentence, Span, Turn
from convqa.text.analysis import Analyzer, analyzer_or_words
from convqa.text.dialogue import open_question
from convqa.text.facts import asks_for_fact
from convqa.text.quotes import quotable, shown
from convqa.text.sentences import sentences, whole_sentences

_SAME = 0.7
"""Two sentences with more than this share of common words are duplicates."""

_LOOKED_AT = 20
"""Maximum number of sentences in the search for a new one."""

GOOD = 0.95
"""A new sentence needs this share of the best chosen sentence's score to replace it."""

_SAME_SENTENCE, _SAME_QUESTION = 0.7, 0.8
_AGAIN = re.compile(r"\b(?:again|repeat\w*|once more|nochmals?|noch einmal|wiederhole?n?)\b", re.I)


@member
class Sentences(Builder):
    """Quote the best sentences of a reading, in the order of the ranking and of their texts.

    A span is quoted with the whole sentences that contain it. Duplicates and overlaps of better spans are skipped.
    Without a reading, or with an empty one, the answer is the beginning of the best passage with a text.

    :param sentences: maximum number of sentences.
    :param words: target length: a sentence is added if that brings the answer closer to this many words. None = no
        target.
    :param fact_words: target length for questions about one fact (who, when, how many, yes or no). None = ``words``.
    :param near: minimum score of the other sentences, as a share of the best sentence's.
    :param best_first: whether the best sentence comes first, and only the others are in order.
    :param again: whether sentences of earlier answers are repeated. If not, they are repeated only if the user asks
        again, or if no other sentence is nearly as good; then the answer has a note.
    """

    sentences: Annotated[int, Field(ge=1)] = 2
    words: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    fact_words: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    near: Annotated[float, Field(ge=0, le=1)] = 0.0
    best_first: bool = False
    again: bool = True

    def build(self, turn: Turn, rewrite: Rewrite, ranking: Ranking, reading: Reading | None) -> Answer:
        spans = [span for span in reading.spans if span.text.strip()] if reading else []
        spans = spans or list(_beginning(ranking, turn.language))
        distinct: Iterable[Span] = _distinct(_quotes(spans, ranking, turn.language), turn.language)
        if not self.again:
            distinct = list(islice(distinct, _LOOKED_AT))
        near, words = _near(distinct, self.near), self._words(turn)
        chosen = list(islice(_closer(near, words, turn.language) if words else near, self.sentences))
        chosen, is_repeat = (chosen, False) if self.again else without_repeats(chosen, distinct, turn, rewrite)
        if not chosen:
            reason = "no passage that was found has a text to quote" if ranking.hits else "no passage was found"
            return nothing(ranking, reason)
        rank = {hit.id: index for index, hit in enumerate(ranking.hits)}
        first = 1 if self.best_first else 0
        chosen[first:] = sorted(chosen[first:], key=lambda span: (rank.get(span.passage_id, len(rank)), span.start))
        quotes = [Sentence(shown(span.text), (Citation(span.passage_id, span.start, span.end),)) for span in chosen]
        answer = Answer.of(quotes, turn.language)
        return replace(answer, notes=(TOLD,)) if is_repeat else answer

    def _words(self, turn: Turn) -> float | None:
        fact = self.fact_words is not None and asks_for_fact(open_question(turn), turn.language)
        return self.fact_words if fact else self.words


def _quotes(spans: Iterable[Span], ranking: Ranking, language: str) -> list[Span]:
    """Return the spans extended to whole sentences, if the passage has a text, without those that are not quotable.

    If none is quotable, return the first.
    """
    texts = {hit.id: hit.passage.text for hit in ranking.hits if hit.passage is not None}
    whole, fit = [], []
    for span in spans:
        text = texts.get(span.passage_id, "")
        whole.append(_cut(span, text, whole_sentences(text, span.start, span.end, language)))
        if not text:
            fit.append(span)
        elif offsets := _fit(text, whole[-1].start, whole[-1].end, language):
            fit.append(_cut(span, text, offsets))
    return fit or whole[:1]


def _fit(text: str, start: int, end: int, language: str) -> tuple[int, int] | None:
    """Return the quotable characters of whole sentences, or None if one of them is not quotable."""
    first, last = end, start
    for begin, stop in sentences(text, language):
        if begin < end and stop > start:
            if (offsets := quotable(text, begin, stop, language)) is None:
                return None
            first, last = min(first, offsets[0]), max(last, offsets[1])
    return (first, last) if first < last else None


def _cut(span: Span, text: str, offsets: tuple[int, int]) -> Span:
    start, end = offsets
    same = (start, end) == (span.start, span.end)
    return span if same else replace(span, start=start, end=end, text=text[start:end])


def _distinct(spans: Iterable[Span], language: str) -> Iterator[Span]:
    """Yield the spans that neither overlap with nor repeat a span before them."""
    analysis = analyzer_or_words(language)
    taken: list[tuple[Span, frozenset[str]]] = []
    for span in spans:
        tokens = frozenset(analysis.tokens(span.text))
        shared = any(
            (span.passage_id == other.passage_id and span.start < other.end and other.start < span.end)
            or len(tokens & others) > _SAME * min(len(tokens), len(others))
            for other, others in taken
        )
        if not shared:
            taken.append((span, tokens))
            yield span


def _near(spans: Iterable[Span], share: float) -> Iterator[Span]:
    """Yield the first span and those with at least this share of its score."""
    first: Span | None = None
    for span in spans:
        first = first or span
        if not share or span.score >= share * first.score:
            yield span


def _closer(spans: Iterable[Span], target: float, language: str) -> Iterator[Span]:
    """Yield spans, at least one, while each brings the total closer to ``target`` words."""
    analysis = analyzer_or_words(language)
    total = 0
    for span in spans:
        count = len(analysis.words(span.text))
        if total and total + count / 2 > target:
            return
        yield span
        total += count


def _beginning(ranking: Ranking, language: str) -> Iterator[Span]:
    """Yield the sentences of the best passage that has any."""
    for hit in ranking.hits:
        if hit.passage is not None and (bounds := sentences(hit.passage.text, language)):
            for start, end in bounds:
                yield Span(hit.id, start, end, hit.passage.text[start:end], hit.score)
            return


def without_repeats(chosen: list[Span], spans: Iterable[Span], turn: Turn, rewrite: Rewrite) -> tuple[list[Span], bool]:
    """Return the chosen spans that no earlier answer contains, or else the best other span of that kind.

    If the first of these scores below :data:`GOOD` of the best chosen span, return that one and True.

    :param spans: all spans of the reading, best first, as ``chosen`` is.
    """
    analysis = analyzer_or_words(turn.language)
    earlier = list(_earlier_sentences(turn, rewrite, analysis))

    def is_repeat(span: Span) -> bool:
        tokens = frozenset(analysis.tokens(span.text))
        return any(len(tokens & sentence) > _SAME_SENTENCE * len(tokens) for sentence in earlier)

    new = [span for span in chosen if not is_repeat(span)] or [span for span in spans if not is_repeat(span)][:1]
    again = bool(chosen) and not (new and new[0].score >= GOOD * chosen[0].score)
    return (chosen[:1] if again else new), again


def _earlier_sentences(turn: Turn, rewrite: Rewrite, analysis: Analyzer) -> Iterator[frozenset[str]]:
    """Yield the tokens of each sentence of earlier answers, except answers to the same question."""
    if _AGAIN.search(turn.question):
        return
    asked = [frozenset(analysis.tokens(text)) for text in (turn.question, rewrite.text)]
    for exchange in turn.history[-MAX_EXCHANGES:]:
        before = [frozenset(analysis.tokens(text)) for text in (exchange.question, exchange.rewrite or "")]
        if exchange.status == "answered" and not any(_same(one, other) for one in asked for other in before):
            for start, end in sentences(exchange.answer, turn.language):
                yield frozenset(analysis.tokens(exchange.answer[start:end]))


def _same(question: frozenset[str], other: frozenset[str]) -> bool:
    return bool(question) and len(question & other) >= _SAME_QUESTION * len(question | other)
