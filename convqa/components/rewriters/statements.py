"""Adds the user's statements and the system's questions as query terms, to find the same rule text again."""

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
    """Search the open question with the words of the user's statements and of the system's questions as terms.

    The system's questions are usually worded like the rule. The text of the rewrite is the question.

    :param scenario: weight of words of the scenario and other statements, relative to words of the question.
    :param asked: weight of words of the system's questions.
    """

    scenario: Annotated[float, Field(ge=0, le=10)] = 0.3
    asked: Annotated[float, Field(ge=0, le=10)] = 1.0

    def rewrite(self, turn: Turn) -> Rewrite:
        question, said = open_question(turn), user_statements(turn)
        terms = [(said.statements, self.scenario), *((asked, self.asked) for asked, _ in said.replies)]
        return Rewrite(question, (Query(question, tuple((text, weight) for text, weight in terms if text and weight)),))
