"""The question with earlier questions before it: the plain way to make a question self-contained."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from convqa.components.base import Rewriter
from convqa.components.history import blank
from convqa.components.members import member
from convqa.domain import Query, Rewrite, Turn
from convqa.text.dialogue import open_question


@member
class Concatenate(Rewriter):
    """The first and the last questions of the history, then the question: one text, one query.

    Raises recall, and costs precision at the top: earlier questions count as much as the one that was asked.
    Exchanges in which nobody said anything do not count.

    :param first: how many of the oldest questions. :param last: how many of the latest; both large = all of them.
    """

    first: Annotated[int, Field(ge=0)] = 1
    last: Annotated[int, Field(ge=0)] = 0

    def rewrite(self, turn: Turn) -> Rewrite:
        question = open_question(turn)
        history = [exchange for exchange in turn.history if not blank(exchange)]
        latest = max(self.first, len(history) - self.last)
        chosen = (*history[: self.first], *history[latest:])
        texts = [text for exchange in chosen if (text := exchange.question.strip())]
        # A question that the system answered by asking back stands in the history and is the open one: once is enough.
        text = " ".join([*(text for text in texts if text != question.strip()), question])
        return Rewrite(text, (Query(text),))
