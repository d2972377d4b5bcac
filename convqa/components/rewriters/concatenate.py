"""Prepends earlier questions to the question, the simplest way to make it self-contained."""

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
    """Concatenate the first questions of the history and the question into one query.

    This raises recall but lowers precision at the top, because earlier questions have the same weight. Blank exchanges
    are skipped.

    Example::

        rewriter: {type: concatenate, init_parameters: {max_questions: 2}}

    :param max_questions: how many of the oldest questions.
    """

    max_questions: Annotated[int, Field(ge=0)] = 1

    def rewrite(self, turn: Turn) -> Rewrite:
        question = open_question(turn)
        history = [exchange for exchange in turn.history if not blank(exchange)]
        earlier = [exchange.question.strip() for exchange in history[: self.max_questions]]
        # If the system asked back, the open question is also in the history: use it once.
        texts = [text for text in earlier if text and text != question.strip()]
        text = " ".join([*texts, question])
        return Rewrite(text, (Query(text),))
