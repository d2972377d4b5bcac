"""Reads spans in the top passages with a model for extractive question answering."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from convqa.components.base import Reader
from convqa.components.encoding import ModelOptions
from convqa.components.members import member
from convqa.components.parameters import Count, Name, Share
from convqa.components.rankings import normalized
from convqa.domain import Passage, Ranking, Reading, Rewrite, Span, Turn
from convqa.models import Options, SpanReader, load_reader

_MAX_PAIRS = 4096
"""Maximum (question, passage) pairs per call of the model, whose spans are in memory at the same time."""


@member
class Extractive(Reader):
    """Find spans that answer the rewritten question; docs/reference/reading.md explains how.

    A span's score is calibrated: its expected F1. The null score is the probability that no passage has the answer, 1
    if there is nothing to read. Spans of a turn never overlap.

    Example::

        reader: {type: extractive, init_parameters: {model: reader, max_passages: 10}}

    :param model: a shipped reader, a folder or a Hugging Face name of a model for question answering.
    :param max_passages: how many of the top passages are read, except blank ones. Beyond 20, also raise ``max_texts``
        of the retriever.
    :param top_k: maximum spans of a turn.
    :param max_span_tokens: maximum tokens of a span.
    :param interpolation: mu; a span's score is (1 - mu) x its passage's score, normalized to 0 to 1 over the passages
        read, + mu x its calibrated score. None = the calibrated score. (RALI: mu = .7.)
    :param options: ``device`` and ``precision`` of the model.
    """

    model: Name = "reader"
    max_passages: Count = 10
    top_k: Count = 20
    max_span_tokens: Count = 30
    interpolation: Share | None = None
    options: ModelOptions | None = None

    @cached_property
    def _reader(self) -> SpanReader:
        return load_reader(self.model, Options(**(self.options or {})))

    def models(self) -> Mapping[str, SpanReader]:
        return {"reader": self._reader}

    def read_batch(
        self,
        turns: Sequence[Turn],
        rewrites: Sequence[Rewrite],
        rankings: Sequence[Ranking],
    ) -> Sequence[Reading]:
        tasks = [self._task(rewrite, ranking) for rewrite, ranking in zip(rewrites, rankings, strict=True)]
        rows = [(task, index) for task in tasks for index in range(len(task.passages))]
        for begin in range(0, len(rows), _MAX_PAIRS):
            self._read(rows[begin : begin + _MAX_PAIRS])
        return [self._reading(task) for task in tasks]

    def _task(self, rewrite: Rewrite, ranking: Ranking) -> _ReadingTask:
        question = rewrite.text.strip()
        hits = [hit for hit in ranking.hits[: self.max_passages] if hit.passage and hit.passage.text.strip()]
        read = Ranking(tuple(hits) if question else ())
        return _ReadingTask(question, read.passages(), normalized(read))

    def _read(self, rows: Sequence[tuple[_ReadingTask, int]]) -> None:
        """Read passages, given by their task and index, and keep the best spans of each task."""
        share = 1.0 if self.interpolation is None else self.interpolation
        pairs = [(task.question, task.passages[index].text) for task, index in rows]
        results = self._reader.read(pairs, self.top_k, self.max_span_tokens)
        for (task, index), result in zip(rows, results, strict=True):
            task.margin = max(task.margin, result.margin)
            for start, end, margin in result.spans:
                score = (1 - share) * task.passage_scores[index] + share * self._reader.expected(margin)
                task.best.append((-score, -margin, index, start, end))
            task.best.sort()
            del task.best[self.top_k :]

    def _reading(self, task: _ReadingTask) -> Reading:
        spans = []
        for negated_score, _, index, start, end in task.best:
            passage = task.passages[index]
            spans.append(Span(passage.id, start, end, passage.text[start:end], -negated_score))
        return Reading(tuple(spans), self._reader.null(task.margin))


@dataclass(slots=True)
class _ReadingTask:
    """The passages of a turn, with their normalized scores in the ranking, and the best spans so far.

    ``best``: (-score, -margin, index of the passage, start, end) of each span, best first.
    """

    question: str
    passages: list[Passage]
    passage_scores: list[float]
    margin: float = -math.inf
    best: list[tuple[float, float, int, int, int]] = field(default_factory=list)
