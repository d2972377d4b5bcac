"""Spans that a model of extractive question answering finds in the top passages."""

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
from convqa.components.rankings import normalised
from convqa.domain import Passage, Ranking, Reading, Rewrite, Span, Turn
from convqa.models import Options, SpanReader, load_reader

Share = Annotated[float, Field(ge=0, le=1)]

AT_ONCE = 4096
"""Pairs of a question and a passage that the model is given at a time: what is found in them is in memory at once."""


@member
class Extractive(Reader):
    """Let a model find the spans that answer the rewritten question; docs/reference/reading.md says how.

    A span's score is its calibrated score, the F1 to expect of it; the null score is the probability that nothing in
    the passages answers, 1 where there is nothing to read. Spans of one turn never overlap.

    :param model: a shipped reader, a folder or a Hugging Face name of a model for question answering.
    :param passages: how many of the top passages are read; those without their text, or with a blank one, are passed
        over. A retriever gives its first ``texts`` (20) hits their text: for more, set that too.
    :param top_k: spans of a turn at most. :param longest: tokens of a span at most.
    :param interpolation: mu; a span's score is (1 - mu) x that of its passage in the ranking + mu x its calibrated one,
        the former brought to 0 to 1 over the passages read. None = the calibrated score. (RALI: mu = .7.)
    :param enough: a turn whose best span has this score reads no further; passages are read in the order of their
        rank: the first, then two, four ... None = all are read, at once.
    :param options: ``device``, ``precision`` and ``engine`` of the model.
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
            self._read([task for task in tasks if not task.found or -task.found[0][0] < least], first, first + number)
            first, number = first + number, 2 * number
        return [self._reading(task) for task in tasks]

    def _task(self, rewrite: Rewrite, ranking: Ranking) -> _Task:
        question = rewrite.text.strip()
        first = ranking.hits[: self.passages] if question else ()
        hits = tuple(hit for hit in first if hit.passage is not None and hit.passage.text.strip())
        passages = [hit.passage for hit in hits if hit.passage is not None]
        return _Task(question, passages, normalised(Ranking(hits)))

    def _read(self, tasks: Sequence[_Task], first: int, last: int) -> None:
        """Read these passages of all turns together, and keep the best that was found."""
        share = 1.0 if self.interpolation is None else self.interpolation
        rows = [(task, place) for task in tasks for place in range(first, min(last, len(task.passages)))]
        for begin in range(0, len(rows), AT_ONCE):
            some = rows[begin : begin + AT_ONCE]
            pairs = [(task.question, task.passages[place].text) for task, place in some]
            for (task, place), made in zip(some, self._reader.read(pairs, self.top_k, self.longest), strict=True):
                task.margin = max(task.margin, made.margin)
                for start, end, margin in made.spans:
                    score = (1 - share) * task.ranked[place] + share * self._reader.expected(margin)
                    task.found.append((-score, -margin, place, start, end))
                task.found = sorted(task.found)[: self.top_k]

    def _reading(self, task: _Task) -> Reading:
        found = ((task.passages[place], start, end, -lost) for lost, _, place, start, end in task.found)
        spans = (Span(passage.id, start, end, passage.text[start:end], score) for passage, start, end, score in found)
        return Reading(tuple(spans), self._reader.null(task.margin))


@dataclass(slots=True)
class _Task:
    """The passages to read for a turn, and the spans that were found.

    ``ranked``: of each passage its score in the ranking, from 0 to 1; ``found``: the best spans so far, each with its
    score and its margin with their signs turned, so that the best comes first, its passage's place, start and end.
    """

    question: str
    passages: list[Passage]
    ranked: list[float]
    margin: float = -math.inf
    found: list[tuple[float, float, int, int, int]] = field(default_factory=list)
