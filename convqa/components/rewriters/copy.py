"""The question as the user said it: what every other rewriter must beat."""

from __future__ import annotations

from haystack import component

from convqa.components.base import Rewriter
from convqa.domain import Rewrite, Turn
from convqa.text.dialogue import open_question


@component
class Copy(Rewriter):
    """The user's question, unchanged.

    Example::

        rewriter: {type: copy}
    """

    def rewrite(self, turn: Turn) -> Rewrite:
        return Rewrite.unchanged(open_question(turn))
