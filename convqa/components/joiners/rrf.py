"""Reciprocal rank fusion of several rankings."""

from __future__ import annotations

from convqa.components.joiners._weighted import Weighted
from convqa.components.members import member


@member
class RRF(Weighted):
    """Score = sum over the inputs of weight / (60 + rank) (Cormack, Clarke and Buettcher, SIGIR 2009)."""

    fusion = "rrf"
