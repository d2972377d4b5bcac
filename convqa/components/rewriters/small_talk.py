"""Another rewriter, asked only where the user asks something: thanks and the like are not searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from convqa.components.base import Rewriter
from convqa.components.members import describe, make, member
from convqa.domain import Rewrite, Turn
from convqa.text.dialogue import replies
from convqa.text.small_talk import asks_nothing

IDLE = "small_talk: nothing was asked"


@member
class SmallTalk(Rewriter):
    """Make no query of what asks nothing ("thanks", "ok cool"), and let the other rewriter pass over it afterwards.

    What counts as such: ``convqa.text.small_talk``. A reply to what was asked back is none. Turns that ask nothing are
    counted in the run's summary.

    :param rewriter: the rewriter of all other turns: its name, or ``{type: ..., init_parameters: {...}}``.
    """

    rewriter: Any = "edit"

    def __post_init__(self) -> None:
        self._rewriter = make(self.rewriter, "rewriter", Rewriter)
        self.inner = [self._rewriter]
        self.rewriter = describe(self._rewriter)

    def rewrite_batch(self, turns: Sequence[Turn]) -> Sequence[Rewrite]:
        idle = [not replies(turn) and asks_nothing(turn.question, turn.language) for turn in turns]
        asking = [
            replace(turn, history=tuple(exchange for exchange in turn.history if exchange.status != "idle"))
            for turn, nothing in zip(turns, idle, strict=True)
            if not nothing
        ]
        made = iter(self._rewriter.rewrite_batch(asking))
        return [
            Rewrite(turn.question, (), (IDLE,)) if nothing else next(made)
            for turn, nothing in zip(turns, idle, strict=True)
        ]
