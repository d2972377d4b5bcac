"""Normalised interpolation of several rankings: their scores count, not only their places."""

from __future__ import annotations

from collections.abc import Sequence

from haystack import component

from convqa.components.base import Joiner
from convqa.components.joiners._weighted import Weighing
from convqa.components.rankings import interpolate
from convqa.domain import Ranking


@component
class Interpolation(Weighing, Joiner):
    """Score = sum over the inputs of weight x score, the scores of each input brought to 0 to 1 first.

    A passage that an input lacks gets nothing from it. Source: :func:`convqa.components.rankings.interpolate`.
    """

    def _mixed(self, parts: Sequence[tuple[float, Ranking]]) -> Ranking:
        return interpolate(parts, self.top_k)
