"""The question as it stands: the floor that every rewriter must beat."""

from __future__ import annotations

from haystack import component

from convqa.components.base import Rewriter
from convqa.domain import Query, Rewrite, Turn, open_question


@component
class Copy(Rewriter):
    """The user's question, unchanged."""

    def rewrite(self, turn: Turn) -> Rewrite:
        question = open_question(turn)
        return Rewrite(question, (Query(question),))
