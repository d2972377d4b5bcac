"""Reads the units of the top passages with a model that scores them as answers to a turn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from convqa.components.base import Reader
from convqa.components.encoding import QueryVectors
from convqa.components.history import first_and_latest
from convqa.components.members import member
from convqa.components.parameters import Count, Name
from convqa.components.readers._sentence_scoring import behind
from convqa.components.readers.sentences import SentencesReader
from convqa.components.unit_pairs import UNITS_LANGUAGE, UnitPair, unit_pairs
from convqa.domain import Passage, Ranking, Reading, Rewrite, Span, Turn, Unit
from convqa.models.kinds.unit_reader import PassageReading, UnitReader, load_unit_reader
from convqa.models.types import Array, Model
from convqa.text.quotes import quotable_units, shown_unit
from convqa.text.units import units

_RANK_WEIGHT = 2.0
"""Weight of how far behind the first passage a unit's passage is (docs/reference/reading.md)."""

_QUESTION_MARKS = ("?", "\uff1f")

_MAX_SPANS = 12
"""Maximum spans of a turn."""

_FIRST_PASSAGES = 4
_ENOUGH = 3.5
"""How many passages are read first, and the score of a span above which the others are not read
(docs/reference/reading.md)."""

_SECOND_READING = 2.0
"""How much less the scores of a second reading count. Chosen on nine collections of own documents."""

_SIMILARITY_WEIGHT = 6.0
_NULL_SIMILARITY = 1 / 3
"""Weight of the cosine of a unit and the question, and the cosine of no answer (docs/reference/reading.md)."""


@member
class UnitsReader(Reader):
    """Score each unit of the top passages: sentence, list item, table row, question with its reply.

    A unit is read with the question, its rewrite, the two questions before, the last answer, and the title and the
    other units of its passage. The best ones are also compared with the question by vectors, which the query encoder
    makes of a question with a history. A span is a unit, and its score grows with how well it
    answers; the null score, 0, is that of no answer. If the first passages have a sure answer, the others are not read.
    If none has an answer, they are read once more with the previous question in front of the turn's, which completes
    "and on Sundays?".
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
        questions = self._queries.model.remembered([turn.question for turn in turns], "query")
        questions = self._queries.with_histories(turns, questions)
        rows = [CandidateTurn(*row) for row in zip(turns, rewrites, rankings, questions, strict=True)]
        best = self._best(rows)
        unclear = [index for index, spans in enumerate(best) if _score(spans) < 0 and rows[index].last_question]
        second = self._best([rows[index].with_last_question() for index in unclear])
        for index, spans in zip(unclear, second, strict=True):
            if _score(spans) - _SECOND_READING > _score(best[index]):
                best[index] = tuple(replace(span, score=span.score - _SECOND_READING) for span in spans)
        results = []
        for row, spans in zip(rows, best, strict=True):
            is_read = row.turn.language == UNITS_LANGUAGE
            other = self._other_languages
            results.append(Reading(spans, 0.0) if is_read else other.read(row.turn, row.rewrite, row.ranking))
        return results

    def _best(self, rows: Sequence[CandidateTurn]) -> list[tuple[Span, ...]]:
        """Return the best spans of each turn, best first."""
        candidates = [self._candidates(row) for row in rows]
        found: list[list[Span]] = [[] for _ in rows]
        best: list[tuple[Span, ...]] = [()] * len(rows)
        for part in (slice(_FIRST_PASSAGES), slice(_FIRST_PASSAGES, None)):
            unanswered = [index for index, spans in enumerate(best) if _score(spans) < _ENOUGH]
            pairs = [candidate.pair for index in unanswered for candidate in candidates[index][part]]
            readings = iter(self._reader.read(pairs))
            for index in unanswered:
                for candidate in candidates[index][part]:
                    found[index] += candidate.spans(next(readings))
                found[index].sort(key=lambda span: -span.score)
                best[index] = self._compared(rows[index], found[index][:_MAX_SPANS])
        return best

    def _compared(
        self,
        row: CandidateTurn,
        spans: Sequence[Span],
    ) -> tuple[Span, ...]:
        """Return spans with their similarity to the vector of the question in their scores, best first."""
        if not spans:
            return ()
        passages = {passage.id: passage for passage in row.ranking.passages()}
        vectors = self._queries.model.remembered([_named_unit(passages[span.passage_id], span) for span in spans])
        compared = []
        for span, cosine in zip(spans, (vectors @ row.vector).tolist(), strict=True):
            score = span.score + _SIMILARITY_WEIGHT * (cosine - _NULL_SIMILARITY)
            compared.append(replace(span, score=score))
        return tuple(sorted(compared, key=lambda span: -span.score))

    def _candidates(self, row: CandidateTurn) -> list[CandidatePassage]:
        """Return the passages to read for a turn."""
        turn = row.turn
        hits = row.ranking.hits[: self.max_passages]
        distances = behind([hit.score for hit in hits])
        candidates = []
        for pair, hit, distance in zip(unit_pairs(turn, row.rewrite, hits), hits, distances, strict=True):
            if pair is not None and hit.passage is not None:
                found = units(hit.passage, turn.language)
                candidates.append(CandidatePassage(pair, hit.passage, found, distance))
        return candidates


def _score(spans: Sequence[Span]) -> float:
    return spans[0].score if spans else -math.inf


def _named_unit(passage: Passage, span: Span) -> str:
    """Return a span with the headings above it, and a row as a sentence."""
    for unit in units(passage, UNITS_LANGUAGE):
        if unit.start < span.end and unit.end > span.start and unit.is_quotable:
            is_whole = (unit.start, unit.end) == (span.start, span.end)
            text = shown_unit(passage, unit) if is_whole else span.text
            return "\n".join(filter(None, (unit.heading.replace(" > ", ", "), text)))
    return span.text


class CandidateTurn(NamedTuple):
    """A turn to read for. ``vector``: of the question with its history."""

    turn: Turn
    rewrite: Rewrite
    ranking: Ranking
    vector: Array

    @property
    def last_question(self) -> str:
        """The previous question, "" without one."""
        latest = first_and_latest(self.turn.history, 1)
        return latest[-1].question.strip() if latest else ""

    def with_last_question(self) -> CandidateTurn:
        """Return the turn with the previous question and its own as its rewrite."""
        rewrite = replace(self.rewrite, text=f"{self.last_question} {self.turn.question}")
        return self._replace(rewrite=rewrite)


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
                spans.append(Span(self.passage.id, *bounds, text, score - _RANK_WEIGHT * self.distance))
        return spans
