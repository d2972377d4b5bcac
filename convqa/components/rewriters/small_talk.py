"""Wraps another rewriter and makes no query for small talk, such as thanks."""

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
    """Make no query for small talk ("thanks", "ok cool"), and hide it from the other rewriter in later turns.

    ``convqa.text.small_talk`` recognizes it. A reply to a question of the system is never small talk. A run's summary
    counts these turns.

    :param rewriter: the rewriter of the other turns: its name, or ``{type: ..., init_parameters: {...}}``.
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
            for turn, is_idle in zip(turns, idle, strict=True)
            if not is_idle
        ]
        rewrites = iter(self._rewriter.rewrite_batch(asking))
        return [
            Rewrite(turn.question, (), (IDLE,)) if is_idle else next(rewrites)
            for turn, is_idle in zip(turns, idle, strict=True)
        ]
