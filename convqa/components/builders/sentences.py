"""Builds an answer of whole sentences, each with its citation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Annotated

from haystack import component
from pydantic import ConfigDict, Field, validate_call

from convqa.components.base import Builder
from convqa.domain import Answer, Citation, Ranking, Reading, Rewrite, Sentence, Span, Turn
from convqa.text.sentences import sentences
from convqa.text.words import words

_NEAREST = 3
_SAME = 0.7
"""Share of common words from which two sentences say the same."""


@component
class Sentences(Builder):
    """The sentences of a reading's best spans, in the order in which their passages were ranked and their texts run.

    A span is quoted with the whole sentences that it is part of. One that repeats what was taken before, or would quote
    some of it again, is passed over. Without a reading (or with an empty one) the answer is the beginning of the best
    passage whose text is there.

    :param sentences: how many sentences an answer has at most.
    """

    @validate_call(config=ConfigDict(strict=True))
    def __init__(self, sentences: Annotated[int, Field(ge=1)] = 2) -> None:
        self.sentences = sentences

    def build(self, turn: Turn, rewrite: Rewrite, ranking: Ranking, reading: Reading | None) -> Answer:
        read = reading.spans if reading and reading.spans else tuple(_beginning(ranking, turn.language))
        chosen = list(_apart(_whole(read, ranking, turn.language), self.sentences))
        if not chosen:
            return _nothing(ranking)
        place = {hit.id: index for index, hit in enumerate(ranking.hits)}
        chosen.sort(key=lambda span: (place.get(span.passage_id, len(place)), span.start))
        said = tuple(
            Sentence(" ".join(span.text.split()), (Citation(span.passage_id, span.start, span.end),)) for span in chosen
        )
        return Answer.of(said, turn.language, score=max(span.score for span in chosen))


def _whole(spans: Iterable[Span], ranking: Ranking, language: str) -> Iterator[Span]:
    """The same spans, grown to the sentences that they are part of where their passage's text is there."""
    texts = {hit.id: hit.passage.text for hit in ranking.hits if hit.passage is not None}
    for span in spans:
        text = texts.get(span.passage_id, "")
        touched = [one for one in sentences(text, language) if one[0] < span.end and one[1] > span.start]
        start, end = (touched[0][0], touched[-1][1]) if touched else (span.start, span.end)
        start, end = min(start, span.start), max(end, span.end)
        yield replace(span, start=start, end=end, text=text[start:end]) if touched else span


def _apart(spans: Iterable[Span], most: int) -> Iterator[Span]:
    """The first ``most`` spans that neither share characters nor repeat one another."""
    taken: list[tuple[Span, frozenset[str]]] = []
    for span in spans:
        said = frozenset(words(span.text))
        if any(
            _overlap(span, other) or len(said & known) > _SAME * min(len(said), len(known)) for other, known in taken
        ):
            continue
        taken.append((span, said))
        yield span
        if len(taken) == most:
            return


def _overlap(one: Span, two: Span) -> bool:
    return one.passage_id == two.passage_id and one.start < two.end and two.start < one.end


def _beginning(ranking: Ranking, language: str) -> Iterator[Span]:
    """The sentences of the best passage that has a text, first ones first."""
    for hit in ranking.hits:
        if hit.passage is not None and (found := sentences(hit.passage.text, language)):
            for start, end in found:
                yield Span(hit.id, start, end, hit.passage.text[start:end], hit.score)
            return


def _nothing(ranking: Ranking) -> Answer:
    nearest = tuple(hit.id for hit in ranking.hits[:_NEAREST])
    reason = "no passage that was found has a text to quote" if nearest else "no passage was found"
    return Answer("none", "", reason=reason, nearest=nearest)
