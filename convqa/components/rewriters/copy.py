"""The question as the user said it: what every other rewriter must beat."""

from __future__ import annotations

from convqa.components.base import Rewriter
from convqa.components.members import member
from convqa.domain import Rewrite, Turn
from convqa.text.dialogue import open_question


@member
class Copy(Rewriter):
    """The user's question, unchanged.

    Example::

        rewriter: {type: copy}
    """

    def rewrite(self, turn: Turn) -> Rewrite:
        return Rewrite.unchanged(open_question(turn))
