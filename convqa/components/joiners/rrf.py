"""Reciprocal rank fusion of several rankings."""

from __future__ import annotations

from collections.abc import Sequence

from haystack import component

from convqa.components.base import Joiner, fuse
from convqa.components.joiners._weighted import Weighing
from convqa.domain import Ranking


@component
class RRF(Weighing, Joiner):
    """Score = sum over the inputs of weight / (60 + rank) (Cormack, Clarke and Buettcher, SIGIR 2009)."""

    def _mixed(self, parts: Sequence[tuple[float, Ranking]]) -> Ranking:
        return fuse(parts, self.top_k)
