"""Reads spans in the top passages with a model for extractive question answering."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated

from pydantic import Field

from convqa.components.base import Reader
from convqa.components.encoding import ModelOptions
from convqa.components.members import member
from convqa.components.rankings import normalized
from convqa.domain import Passage, Ranking, Reading, Rewrite, Span, Turn
from convqa.models import Options, SpanReader, load_reader

Share = Annotated[float, Field(ge=0, le=1)]

AT_ONCE = 4096
"""Maximum (question, passage) pairs per call of the model, whose spans are in memory at the same time."""


@member
class Extractive(Reader):
    """Find spans that answer the rewritten question; docs/reference/reading.md explains how.

    A span's score is calibrated: its expected F1. The null score is the probability that no passage has the answer, 1
    if there is nothing to read. Spans of a turn never overlap.

    :param model: a shipped reader, a folder or a Hugging Face name of a model for question answering.
    :param passages: how many of the top passages are read, except blank ones. Beyond 20, also raise ``texts`` of the
        retriever.
    :param top_k: maximum spans of a turn. :param longest: maximum tokens of a span.
    :param interpolation: mu; a span's score is (1 - mu) x its passage's score, normalized to 0 to 1 over the passages
        read, + mu x its calibrated score. None = the calibrated score. (RALI: mu = .7.)
    :param enough: stop reading once the best span of a turn has this score. Passages are read by rank: the first, then
        two, four ... None = all are read together.
    :param options: ``device`` and ``precision`` of the model.
    """

    model: Annotated[str, Field(min_length=1)] = "reader"
    passages: Annotated[int, Field(ge=1)] = 10
    top_k: Annotated[int, Field(ge=1)] = 20
    longest: Annotated[int, Field(ge=1)] = 30
    interpolation: Share | None = None
    enough: Share | None = None
    options: ModelOptions | None = None

    @cached_property
    def _reader(self) -> SpanReader:
        return load_reader(self.model, Options(**(self.options or {})))

    def models(self) -> Mapping[str, SpanReader]:
        return {"reader": self._reader}

    def read_batch(
        self, turns: Sequence[Turn], rewrites: Sequence[Rewrite], rankings: Sequence[Ranking]
    ) -> Sequence[Reading]:
        tasks = [self._task(*row) for row in zip(rewrites, rankings, strict=True)]
        first, number = 0, self.passages if self.enough is None else 1
        least = math.inf if self.enough is None else self.enough
        while first < self.passages:
            self._read([task for task in tasks if not task.best or -task.best[0][0] < least], first, first + number)
            first, number = first + number, 2 * number
        return [self._reading(task) for task in tasks]

    def _task(self, rewrite: Rewrite, ranking: Ranking) -> _Task:
        question = rewrite.text.strip()
        first = ranking.hits[: self.passages] if question else ()
        hits = tuple(hit for hit in first if hit.passage is not None and hit.passage.text.strip())
        passages = [hit.passage for hit in hits if hit.passage is not None]
        return _Task(question, passages, normalized(Ranking(hits)))

    def _read(self, tasks: Sequence[_Task], first: int, last: int) -> None:
        """Read these passages of all turns together and update the best spans."""
        share = 1.0 if self.interpolation is None else self.interpolation
        rows = [(task, index) for task in tasks for index in range(first, min(last, len(task.passages)))]
        for begin in range(0, len(rows), AT_ONCE):
            batch = rows[begin : begin + AT_ONCE]
            pairs = [(task.question, task.passages[index].text) for task, index in batch]
            for (task, index), result in zip(batch, self._reader.read(pairs, self.top_k, self.longest), strict=True):
                task.margin = max(task.margin, result.margin)
                for start, end, margin in result.spans:
                    score = (1 - share) * task.ranked[index] + share * self._reader.expected(margin)
                    task.best.append((-score, -margin, index, start, end))
                task.best = sorted(task.best)[: self.top_k]

    def _reading(self, task: _Task) -> Reading:
        best = ((task.passages[index], start, end, -negated) for negated, _, index, start, end in task.best)
        spans = (Span(passage.id, start, end, passage.text[start:end], score) for passage, start, end, score in best)
        return Reading(tuple(spans), self._reader.null(task.margin))


@dataclass(slots=True)
class _Task:
    """The passages of a turn and the best spans so far.

    ``ranked``: the normalized score of each passage in the ranking; ``best``: (-score, -margin, index of the passage,
    start, end) of each span, best first.
    """

    question: str
    passages: list[Passage]
    ranked: list[float]
    margin: float = -math.inf
    best: list[tuple[float, float, int, int, int]] = field(default_factory=list)
