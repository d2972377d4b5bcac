"""Reranks the first hits with the network of the reader ``units``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated

from pydantic import Field

from convqa.components.base import Reranker
from convqa.components.members import member
from convqa.components.parameters import Count, Name
from convqa.components.rankings import reordered
from convqa.components.unit_pairs import unit_pairs
from convqa.domain import Ranking, Rewrite, Turn
from convqa.models.kinds.unit_reader import UnitReader, load_unit_reader
from convqa.models.types import Model


@member
class ReaderReranker(Reranker):
    """Rerank by the score of each passage as an answer to the turn, from the network of the reader ``units``.

    The reader does not read these passages again. Rankings of turns in languages other than English are
    unchanged.

    Example::

        reranker: {type: reader, init_parameters: {depth: 10, weight: 0.4}}

    :param model: the shipped reader, or a folder of a reader that scores units.
    :param depth: how many of the first hits are reranked; the others follow.
    :param weight: weight of the reader's score; below 1, (1 - weight) x the old score is added, both normalized to 0
        to 1.
    """

    model: Name = "reader"
    depth: Count = 10
    weight: Annotated[float, Field(gt=0, le=1)] = 0.4

    @cached_property
    def _reader(self) -> UnitReader:
        return load_unit_reader(self.model)

    def models(self) -> Mapping[str, Model]:
        return {"reader": self._reader.model}

    def rerank_batch(
        self,
        turns: Sequence[Turn],
        rewrites: Sequence[Rewrite],
        rankings: Sequence[Ranking],
    ) -> Sequence[Ranking]:
        rows = []
        for turn, rewrite, ranking in zip(turns, rewrites, rankings, strict=True):
            heads = ranking.hits[: self.depth]
            pairs = unit_pairs(turn, rewrite, heads)
            rows.append({hit.id: pair for hit, pair in zip(heads, pairs, strict=True) if pair is not None})
        readings = iter(self._reader.read([pair for row in rows for pair in row.values()]))
        ordered = []
        for row, ranking in zip(rows, rankings, strict=True):
            scores = {id: next(readings).passage for id in row}
            # A passage without a unit, such as a rule, has none.
            finite = {id: score for id, score in scores.items() if math.isfinite(score)}
            ordered.append(reordered(ranking, finite, self.weight))
        return ordered
