"""Normalised interpolation of several rankings: their scores count, not only their places."""

from __future__ import annotations

from convqa.components.joiners._weighted import Weighted
from convqa.components.members import member


@member
class Interpolation(Weighted):
    """Score = sum over the inputs of weight x score, the scores of each input brought to 0 to 1 first.

    A passage that an input lacks gets nothing from it. Source: :func:`convqa.components.rankings.interpolate`.
    """

    fusion = "interpolation"
