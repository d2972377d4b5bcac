"""Another rewriter, asked only where a question needs the conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from convqa.components.base import Rewriter
from convqa.components.members import describe, make, member
from convqa.domain import Rewrite, Turn
from convqa.text.dialogue import follows_up, open_question

KEPT = "gated: the question needs no history"


@member
class Gated(Rewriter):
    """Leave a question alone that can be understood by itself, so that no rewriter leads it astray.

    What counts as a sign that it cannot: ``convqa.text.dialogue``. Questions that are left alone are
    counted in the run's summary.

    :param rewriter: the rewriter that is asked for all others: its name, or ``{type: ..., init_parameters: {...}}``.
    """

    rewriter: Any

    def __post_init__(self) -> None:
        self._rewriter = make(self.rewriter, "rewriter", Rewriter)
        self.inner = [self._rewriter]
        self.rewriter = describe(self._rewriter)

    def rewrite_batch(self, turns: Sequence[Turn]) -> Sequence[Rewrite]:
        needed = [turn for turn in turns if turn.history and follows_up(open_question(turn), turn.language)]
        made = dict(zip(map(id, needed), self._rewriter.rewrite_batch(needed), strict=True))
        return [
            made.get(id(turn)) or Rewrite.unchanged(open_question(turn), *([KEPT] if turn.history else []))
            for turn in turns
        ]
