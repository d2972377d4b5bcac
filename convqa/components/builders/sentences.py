"""Builds answers of whole sentences, each with its citation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Annotated

from pydantic import Field

from convqa.components.base import Builder
from convqa.components.checks import nothing
from convqa.components.history import MAX_EXCHANGES
from convqa.components.members import member
from convqa.components.parameters import Count, Share
from convqa.domain import TOLD, Answer, Citation, Passage, Ranking, Reading, Rewrite, Sentence, Span, Turn
from convqa.text.analysis import Analyzer, analyzer_or_words
from convqa.text.dialogue import open_question
from convqa.text.facts import asks_for_fact
from convqa.text.quotes import quotable_units, shown, shown_unit, whole_units
from convqa.text.sentences import sentences
from convqa.text.units import units

_MAX_SHARED_WORDS = 0.7
"""Two sentences with more than this share of common words are duplicates."""

_MIN_SHARED_QUESTION_WORDS = 0.8
"""Two questions with this share of common words are the same."""

_MAX_CANDIDATES = 20
"""Maximum number of sentences to choose from, unless more are wanted."""

MIN_NEW_SCORE = 0.95
"""A new sentence needs this share of the best chosen sentence's score to replace it."""

_ASKS_AGAIN = re.compile(r"\b(?:again|repeat\w*|once more|nochmals?|noch einmal|wiederhole?n?)\b", re.I)

TargetWords = Annotated[float, Field(gt=0, allow_inf_nan=False)]


@member
class SentencesBuilder(Builder):
    """Quote the best sentences of a reading, in the order of the ranking and of their texts.

    A span is quoted with the whole sentences that contain it. Duplicates and overlaps of better spans are skipped.
    Without a reading, or with an empty one, the answer is the beginning of the best passage with a text.

    Example::

        builder: {type: sentences, init_parameters: {max_sentences: 4, target_words: 50, best_first: true}}

    :param max_sentences: maximum number of sentences.
    :param target_words: target length: a sentence is added if that brings the answer closer to this many words. None =
        no target.
    :param target_fact_words: target length for questions about one fact (who, when, how many, yes or no). None =
        ``target_words``.
    :param min_score_share: minimum score of the other sentences, as a share of the best sentence's.
    :param best_first: whether the best sentence comes first, and only the others are in order.
    :param allow_repeats: whether sentences of earlier answers are repeated. If not, they are repeated only if the user
        asks again, or if no other sentence is nearly as good; then the answer has a note.
    """

    max_sentences: Count = 2
    target_words: TargetWords | None = None
    target_fact_words: TargetWords | None = None
    min_score_share: Share = 0.0
    best_first: bool = False
    allow_repeats: bool = True

    def build(
        self,
        turn: Turn,
        rewrite: Rewrite,
        ranking: Ranking,
        reading: Reading | None,
    ) -> Answer:
        candidates = self._candidates(turn, ranking, reading)
        chosen = self._chosen(turn, candidates)
        is_repeat = False
        if not self.allow_repeats:
            chosen, is_repeat = without_repeats(
                chosen,
                candidates,
                turn,
                rewrite,
            )
        if not chosen:
            reason = "no passage that was found has a text to quote" if ranking.hits else "no passage was found"
            return nothing(ranking, reason)
        ordered = self._ordered(chosen, ranking)
        answer = Answer.of(_sentences(ordered, _passages(ranking), turn.language), turn.language)
        return replace(answer, notes=(TOLD,)) if is_repeat else answer

    def _candidates(
        self,
        turn: Turn,
        ranking: Ranking,
        reading: Reading | None,
    ) -> list[Span]:
        """Return the sentences to choose from, best first."""
        spans = [span for span in reading.spans if span.text.strip()] if reading else []
        if not spans:
            spans = _beginning(ranking, turn.language)
        quotes = _quotes(spans, _passages(ranking), turn.language)
        count = max(_MAX_CANDIDATES, self.max_sentences)
        return list(islice(_distinct(quotes, turn.language), count))

    def _chosen(self, turn: Turn, candidates: Sequence[Span]) -> list[Span]:
        """Return the best candidates that are good enough, at least one, up to the number and length of sentences."""
        analysis = analyzer_or_words(turn.language)
        target = self._target_words(turn)
        chosen: list[Span] = []
        total = 0
        for span in candidates:
            if self.min_score_share and span.score < self.min_score_share * candidates[0].score:
                continue
            count = len(analysis.words(span.text))
            is_too_long = target is not None and total > 0 and total + count / 2 > target
            if is_too_long or len(chosen) == self.max_sentences:
                break
            chosen.append(span)
            total += count
        return chosen

    def _target_words(self, turn: Turn) -> float | None:
        if self.target_fact_words is not None and asks_for_fact(open_question(turn), turn.language):
            return self.target_fact_words
        return self.target_words

    def _ordered(self, chosen: Sequence[Span], ranking: Ranking) -> list[Span]:
        ranks = {hit.id: rank for rank, hit in enumerate(ranking.hits)}
        first = 1 if self.best_first else 0
        others = sorted(chosen[first:], key=lambda span: (ranks.get(span.passage_id, len(ranks)), span.start))
        return [*chosen[:first], *others]


def _passages(ranking: Ranking) -> dict[str, Passage]:
    return {hit.id: hit.passage for hit in ranking.hits if hit.passage is not None}


def _sentences(spans: Sequence[Span], passages: Mapping[str, Passage], language: str) -> list[Sentence]:
    """Return quotes as sentences, the items of a list with its introduction only once."""
    made = []
    introduction = ""
    for span in spans:
        passage = passages.get(span.passage_id)
        quoted = whole_units(passage, span.start, span.end, language) if passage is not None else []
        text = shown(span.text)
        unit = quoted[0] if len(quoted) == 1 else None
        if passage is not None and unit is not None and (unit.start, unit.end) == (span.start, span.end):
            is_next_item = unit.context != "" and unit.context == introduction and unit.kind != "row"
            text = text if is_next_item else shown_unit(passage, unit)
        introduction = unit.context if unit is not None else ""
        made.append(Sentence(text, (Citation(span.passage_id, span.start, span.end),)))
    return made


def _quotes(spans: Iterable[Span], passages: Mapping[str, Passage], language: str) -> list[Span]:
    """Return the spans extended to whole units, if the passage has a text, without those that are not quotable.

    If none is quotable, return the first.
    """
    quotes = []
    whole_spans = []
    for span in spans:
        passage = passages.get(span.passage_id)
        if passage is None or not passage.text:
            quotes.append(span)
            continue
        quoted = whole_units(passage, span.start, span.end, language)
        whole_spans.append(_extended(span, passage.text, quoted[0].start, quoted[-1].end) if quoted else span)
        bounds = quotable_units(passage, span.start, span.end, language)
        if bounds:
            quotes.append(_extended(span, passage.text, *bounds))
    return quotes or whole_spans[:1]


def _extended(span: Span, text: str, start: int, end: int) -> Span:
    if (start, end) == (span.start, span.end):
        return span
    return replace(span, start=start, end=end, text=text[start:end])


def _distinct(spans: Iterable[Span], language: str) -> Iterator[Span]:
    """Yield the spans that neither overlap with nor repeat a span before them."""
    analysis = analyzer_or_words(language)
    taken: list[tuple[Span, frozenset[str]]] = []
    for span in spans:
        tokens = frozenset(analysis.tokens(span.text))
        if not any(_overlap(span, other) or _is_duplicate(tokens, others) for other, others in taken):
            taken.append((span, tokens))
            yield span


def _overlap(span: Span, other: Span) -> bool:
    return span.passage_id == other.passage_id and span.start < other.end and other.start < span.end


def _is_duplicate(tokens: frozenset[str], others: frozenset[str]) -> bool:
    return len(tokens & others) > _MAX_SHARED_WORDS * min(len(tokens), len(others))


def _beginning(ranking: Ranking, language: str) -> list[Span]:
    """Return the units of the best passage that has any."""
    for hit in ranking.hits:
        if hit.passage is not None:
            text = hit.passage.text
            quotable = [unit for unit in units(hit.passage, language) if unit.is_quotable]
            if quotable:
                return [Span(hit.id, unit.start, unit.end, text[unit.start : unit.end], hit.score) for unit in quotable]
    return []


def without_repeats(
    chosen: list[Span],
    candidates: Sequence[Span],
    turn: Turn,
    rewrite: Rewrite,
) -> tuple[list[Span], bool]:
    """Return the chosen spans that no earlier answer contains, or else the best other candidate of that kind.

    If the first of these scores below :data:`MIN_NEW_SCORE` of the best chosen span, return that one and True.
    """
    analysis = analyzer_or_words(turn.language)
    earlier = list(_earlier_sentences(turn, rewrite, analysis))

    def is_new(span: Span) -> bool:
        tokens = frozenset(analysis.tokens(span.text))
        return all(len(tokens & sentence) <= _MAX_SHARED_WORDS * len(tokens) for sentence in earlier)

    new = [span for span in chosen if is_new(span)]
    if not new:
        new = [span for span in candidates if is_new(span)][:1]
    if chosen and (not new or new[0].score < MIN_NEW_SCORE * chosen[0].score):
        return chosen[:1], True
    return new, False


def _earlier_sentences(turn: Turn, rewrite: Rewrite, analysis: Analyzer) -> Iterator[frozenset[str]]:
    """Yield the tokens of each sentence of earlier answers, except answers to the same question."""
    if _ASKS_AGAIN.search(turn.question):
        return
    questions = [frozenset(analysis.tokens(text)) for text in (turn.question, rewrite.text)]
    for exchange in turn.history[-MAX_EXCHANGES:]:
        earlier = [frozenset(analysis.tokens(text)) for text in (exchange.question, exchange.rewrite or "")]
        is_same = any(_is_same_question(question, other) for question in questions for other in earlier)
        if exchange.status == "answered" and not is_same:
            for start, end in sentences(exchange.answer, turn.language):
                yield frozenset(analysis.tokens(exchange.answer[start:end]))


def _is_same_question(question: frozenset[str], other: frozenset[str]) -> bool:
    shared = len(question & other)
    return shared > 0 and shared >= _MIN_SHARED_QUESTION_WORDS * len(question | other)
