"""Builds an answer of whole sentences, each with its citation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Annotated

from pydantic import Field

from convqa.components.base import Builder
from convqa.components.builders._told import untold
from convqa.components.citations import nothing
from convqa.components.members import member
from convqa.domain import TOLD, Answer, Citation, Ranking, Reading, Rewrite, Sentence, Span, Turn
from convqa.text.analysis import analyzer_or_words
from convqa.text.dialogue import open_question
from convqa.text.facts import asks_for_fact
from convqa.text.quotes import quotable, shown
from convqa.text.sentences import sentences, whole_sentences

_SAME = 0.7
"""Share of common words from which two sentences say the same."""

_LOOKED_AT = 20
"""Sentences among which something new is looked for."""


@member
class Sentences(Builder):
    """The best sentences of a reading, in the order in which their passages were ranked and their texts run.

    A span is quoted with the whole sentences that it is part of. One that repeats what was taken before, or would quote
    some of it again, is passed over. Without a reading (or with an empty one) the answer is the beginning of the best
    passage whose text is there.

    :param sentences: how many sentences an answer has at most.
    :param words: how long an answer is to be: a sentence is added where that brings it closer to so many words. None =
        as many sentences as there may be.
    :param fact_words: the same where the question asks for one fact (who, when, how many, yes or no). None = ``words``.
    :param near: the share of the best sentence's score that another needs, to be said too.
    :param best_first: whether the best sentence opens the answer, and only the others keep their order.
    :param again: whether what earlier answers of the conversation said is said again. If not, it is said only where it
        is asked for again, or nothing else is nearly as good; then the answer has a note.
    """

    sentences: Annotated[int, Field(ge=1)] = 2
    words: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    fact_words: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    near: Annotated[float, Field(ge=0, le=1)] = 0.0
    best_first: bool = False
    again: bool = True

    def build(self, turn: Turn, rewrite: Rewrite, ranking: Ranking, reading: Reading | None) -> Answer:
        spans = [span for span in reading.spans if span.text.strip()] if reading else []
        read = spans or tuple(_beginning(ranking, turn.language))
        apart: Iterable[Span] = _apart(_quotes(read, ranking, turn.language), turn.language)
        if not self.again:
            apart = list(islice(apart, _LOOKED_AT))
        near, words = _near(apart, self.near), self._words(turn)
        chosen = list(islice(_closer(near, words, turn.language) if words else near, self.sentences))
        chosen, told = (chosen, False) if self.again else untold(chosen, apart, turn, rewrite)
        if not chosen:
            reason = "no passage that was found has a text to quote" if ranking.hits else "no passage was found"
            return nothing(ranking, reason)
        place = {hit.id: index for index, hit in enumerate(ranking.hits)}
        first = 1 if self.best_first else 0
        chosen[first:] = sorted(chosen[first:], key=lambda span: (place.get(span.passage_id, len(place)), span.start))
        said = tuple(Sentence(shown(span.text), (Citation(span.passage_id, span.start, span.end),)) for span in chosen)
        answer = Answer.of(said, turn.language)
        return replace(answer, notes=(TOLD,)) if told else answer

    def _words(self, turn: Turn) -> float | None:
        fact = self.fact_words is not None and asks_for_fact(open_question(turn), turn.language)
        return self.fact_words if fact else self.words


def _quotes(spans: Iterable[Span], ranking: Ranking, language: str) -> list[Span]:
    """The sentences that spans are part of, where their passage's text is there, without what is not fit to be quoted.

    Where nothing is fit, the first as it is.
    """
    texts = {hit.id: hit.passage.text for hit in ranking.hits if hit.passage is not None}
    whole, fit = [], []
    for span in spans:
        text = texts.get(span.passage_id, "")
        whole.append(_cut(span, text, whole_sentences(text, span.start, span.end, language)))
        if not text:
            fit.append(span)
        elif place := _fit(text, whole[-1].start, whole[-1].end, language):
            fit.append(_cut(span, text, place))
    return fit or whole[:1]


def _fit(text: str, start: int, end: int, language: str) -> tuple[int, int] | None:
    """The characters of whole sentences that may be quoted; None where one of them is not fit to be quoted."""
    first, last = end, start
    for begin, stop in sentences(text, language):
        if begin < end and stop > start:
            if (place := quotable(text, begin, stop, language)) is None:
                return None
            first, last = min(first, place[0]), max(last, place[1])
    return (first, last) if first < last else None


def _cut(span: Span, text: str, place: tuple[int, int]) -> Span:
    start, end = place
    same = (start, end) == (span.start, span.end)
    return span if same else replace(span, start=start, end=end, text=text[start:end])


def _apart(spans: Iterable[Span], language: str) -> Iterator[Span]:
    """Those that neither share characters with one before them nor repeat it."""
    analysis = analyzer_or_words(language)
    taken: list[tuple[Span, frozenset[str]]] = []
    for span in spans:
        said = frozenset(analysis.tokens(span.text))
        shared = any(
            (span.passage_id == other.passage_id and span.start < other.end and other.start < span.end)
            or len(said & known) > _SAME * min(len(said), len(known))
            for other, known in taken
        )
        if not shared:
            taken.append((span, said))
            yield span


def _near(spans: Iterable[Span], share: float) -> Iterator[Span]:
    """The first span, and of the others those whose score is at least this share of its score."""
    first: Span | None = None
    for span in spans:
        first = first or span
        if not share or span.score >= share * first.score:
            yield span


def _closer(spans: Iterable[Span], wanted: float, language: str) -> Iterator[Span]:
    """The first span and those behind it, up to one of whose words less than half fit into ``wanted`` words."""
    analysis = analyzer_or_words(language)
    said = 0
    for span in spans:
        count = len(analysis.words(span.text))
        if said and said + count / 2 > wanted:
            return
        yield span
        said += count


def _beginning(ranking: Ranking, language: str) -> Iterator[Span]:
    """The sentences of the best passage that has a text, first ones first."""
    for hit in ranking.hits:
        if hit.passage is not None and (found := sentences(hit.passage.text, language)):
            for start, end in found:
                yield Span(hit.id, start, end, hit.passage.text[start:end], hit.score)
            return
