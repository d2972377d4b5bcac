"""Rewriters inside a rewriter."""

from __future__ import annotations

from convqa.components import nested as members
from convqa.components import rewriters
from convqa.components.base import Rewriter


def nested(value: object, place: str) -> Rewriter:
    """The rewriter that a parameter describes (``convqa.components.nested``)."""
    return members.nested(value, place, Rewriter, rewriters)
