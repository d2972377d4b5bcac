"""Adds the user's statements and replies as query terms, so that the same rule text is found again."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from convqa.components.base import Rewriter
from convqa.components.members import member
from convqa.domain import Query, Rewrite, Turn
from convqa.text.dialogue import open_question
from convqa.text.english.replies import user_statements


@member
class Statements(Rewriter):
    """The open question; every word that the user told, and every word of what was asked back for it, adds to it.

    What was asked back is mostly worded as the rule is. The rewritten text stays the question.

    :param scenario: what a word of the scenario and of other statements counts, where one of the question counts 1.
    :param asked: what a word of a question that was asked back counts.
    """

    scenario: Annotated[float, Field(ge=0, le=10)] = 0.3
    asked: Annotated[float, Field(ge=0, le=10)] = 1.0

    def rewrite(self, turn: Turn) -> Rewrite:
        question, said = open_question(turn), user_statements(turn)
        terms = [(said.statements, self.scenario), *((asked, self.asked) for asked, _ in said.replies)]
        return Rewrite(question, (Query(question, tuple((text, weight) for text, weight in terms if text and weight)),))
