"""Rewrites of another system or of people, read from a run.json or a file of questions."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated

from pydantic import Field

from convqa.components.base import Rewriter
from convqa.components.members import member
from convqa.components.recordings import FromFile, of_turn
from convqa.domain import Query, Rewrite, Turn
from convqa.text.dialogue import open_question


@member
class RecordedRewriter(FromFile, Rewriter):
    """Use the rewrites of another system or of people, by turn (``CONVERSATION_TURN``).

    A turn that is missing in the file keeps its question; a run's summary counts those with a history.

    Example::

        rewriter: {type: recorded, init_parameters: {path: questions-rewritten.json}}

    :param path: a run.json (``Model_rewrite``), or a file like questions-rewritten.json (``Question``).
    """

    path: Annotated[str, Field(min_length=1)]

    @cached_property
    def _rewrites(self) -> dict[str, str]:
        return self._recording.rewrites()

    def warm_up(self) -> None:
        _ = self._rewrites

    def rewrite(self, turn: Turn) -> Rewrite:
        written = of_turn(self._rewrites, turn.id)
        if written is None:
            notes = ["not recorded"] if turn.history else []
            return Rewrite.unchanged(open_question(turn), *notes)
        return Rewrite(written, (Query(written),))
