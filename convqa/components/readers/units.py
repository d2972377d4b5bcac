"""Reads the units of the top passages with a model that scores them as answers to a turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from convqa.components.base import Reader
from convqa.components.encoding import QueryVectors
from convqa.components.members import member
from convqa.components.parameters import Count, Name
from convqa.components.readers._sentence_scoring import behind
from convqa.components.readers.sentences import SentencesReader
from convqa.components.unit_pairs import UNITS_LANGUAGE, UnitPair, unit_pairs
from convqa.domain import Passage, Ranking, Reading, Rewrite, Span, Turn, Unit
from convqa.models.kinds.unit_reader import PassageReading, UnitReader, UnitScore, load_unit_reader
from convqa.models.types import Array, Model
from convqa.text.quotes import quotable_units, shown_unit
from convqa.text.units import units

_MARGIN_WEIGHT = 0.2
_PASSAGE_WEIGHT = 0.5
_RANK_WEIGHT = 2.0
"""Weights of the scores besides the unit's own (docs/reference/reading.md)."""

_QUESTION_MARKS = ("?", "\uff1f")

_MAX_SPANS = 12
"""Maximum spans of a turn."""

_FIRST_PASSAGES = 4
_ENOUGH = 5.0
"""How many passages are read first, and the score of a span above which the others are not read. Chosen on nine
collections of own documents (docs/reference/reading.md)."""

_SIMILARITY_WEIGHT = 12.0
_NULL_SIMILARITY = 1 / 3
"""Weight of the cosine of a unit and the question, and the cosine of no answer. Chosen on nine collections of own
documents that the query encoder was not trained on (docs/reference/reading.md)."""


@member
class UnitsReader(Reader):
    """Score each unit of the top passages: sentence, list item, table row, question with its reply.

    A unit is read with the question, its rewrite, the two questions before, the last answer, and the title and the
    other units of its passage. The best ones are also compared with the question by vectors, which the query encoder
    makes of a question with a history. A span is a unit, and its score grows with how well it
    answers; the null score, 0, is that of no answer. If the first passages have a sure answer, the others are not read.
    Turns in languages other than English are read by the reader ``sentences``. The model runs on ONNX Runtime, on the
    CPU, whatever device the other models run on.

    Example::

        reader: {type: units, init_parameters: {model: reader, max_passages: 10}}

    :param model: the shipped reader, or a folder of a reader that scores units.
    :param max_passages: how many of the top passages are read, except those without text.
    :param encoder: the encoder of the vectors. :param query_encoder: the model of the question with its history.
    """

    model: Name = "reader"
    max_passages: Count = 10
    encoder: Name = "encoder"
    query_encoder: Name | None = "query_encoder"

    def __post_init__(self) -> None:
        self._queries = QueryVectors(self.encoder, None, self.query_encoder)
        self._other_languages = SentencesReader(max_passages=self.max_passages)

    @cached_property
    def _reader(self) -> UnitReader:
        return load_unit_reader(self.model)

    def models(self) -> Mapping[str, Model]:
        return {"reader": self._reader.model, **self._queries.models()}

    def read_batch(
        self,
        turns: Sequence[Turn],
        rewrites: Sequence[Rewrite],
        rankings: Sequence[Ranking],
    ) -> Sequence[Reading]:
        rows = list(zip(turns, rewrites, rankings, strict=True))
        candidates = [self._candidates(*row) for row in rows]
        questions = self._queries.model.remembered([turn.question for turn in turns], "query")
        questions = self._queries.with_histories(turns, questions)
        found: list[list[Span]] = [[] for _ in rows]
        best: list[tuple[Span, ...]] = [()] * len(rows)
        for part in (slice(_FIRST_PASSAGES), slice(_FIRST_PASSAGES, None)):
            unanswered = [index for index, spans in enumerate(best) if not spans or spans[0].score < _ENOUGH]
            pairs = [candidate.pair for index in unanswered for candidate in candidates[index][part]]
            readings = iter(self._reader.read(pairs))
            for index in unanswered:
                for candidate in candidates[index][part]:
                    found[index] += candidate.spans(next(readings))
                found[index].sort(key=lambda span: -span.score)
                best[index] = self._compared(rankings[index], found[index][:_MAX_SPANS], questions[index])
        results = []
        for row, spans in zip(rows, best, strict=True):
            is_read = row[0].language == UNITS_LANGUAGE
            results.append(Reading(spans, 0.0) if is_read else self._other_languages.read(*row))
        return results

    def _compared(
        self,
        ranking: Ranking,
        spans: Sequence[Span],
        question: Array,
    ) -> tuple[Span, ...]:
        """Return spans with their similarity to the vector of the question in their scores, best first."""
        if not spans:
            return ()
        passages = {passage.id: passage for passage in ranking.passages()}
        vectors = self._queries.model.remembered([_named_unit(passages[span.passage_id], span) for span in spans])
        compared = []
        for span, cosine in zip(spans, (vectors @ question).tolist(), strict=True):
            score = span.score + _SIMILARITY_WEIGHT * (cosine - _NULL_SIMILARITY)
            compared.append(replace(span, score=score))
        return tuple(sorted(compared, key=lambda span: -span.score))

    def _candidates(
        self,
        turn: Turn,
        rewrite: Rewrite,
        ranking: Ranking,
    ) -> list[CandidatePassage]:
        """Return the passages to read for a turn."""
        hits = ranking.hits[: self.max_passages]
        distances = behind([hit.score for hit in hits])
        candidates = []
        for pair, hit, distance in zip(unit_pairs(turn, rewrite, hits), hits, distances, strict=True):
            if pair is not None and hit.passage is not None:
                found = units(hit.passage, turn.language)
                candidates.append(CandidatePassage(pair, hit.passage, found, distance))
        return candidates


def _named_unit(passage: Passage, span: Span) -> str:
    """Return a span with the headings above it, and a row as a sentence."""
    for unit in units(passage, UNITS_LANGUAGE):
        if unit.start < span.end and unit.end > span.start and unit.is_quotable:
            is_whole = (unit.start, unit.end) == (span.start, span.end)
            text = shown_unit(passage, unit) if is_whole else span.text
            return "\n".join(filter(None, (unit.heading.replace(" > ", ", "), text)))
    return span.text


class CandidatePassage(NamedTuple):
    """A passage to read for a question. ``distance``: of its score to the first one's, 0 to 1."""

    pair: UnitPair
    passage: Passage
    units: Sequence[Unit]
    distance: float

    def spans(self, reading: PassageReading) -> list[Span]:
        """Return the units that can be an answer with their scores."""
        spans = []
        for unit, score in zip(self.units, reading.units, strict=True):
            bounds = quotable_units(
                self.passage,
                unit.start,
                unit.end,
                UNITS_LANGUAGE,
            )
            if bounds is None:
                continue
            text = self.passage.text[slice(*bounds)]
            # A question answers only if its reply is part of the unit.
            if not text.endswith(_QUESTION_MARKS):
                spans.append(Span(self.passage.id, *bounds, text, self._fused(score, reading.passage)))
        return spans

    def _fused(self, unit: UnitScore, passage: float) -> float:
        score = unit.score + _MARGIN_WEIGHT * unit.margin + _PASSAGE_WEIGHT * passage
        return score - _RANK_WEIGHT * self.distance
