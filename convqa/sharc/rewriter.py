"""Adds the user's statements and the system's questions as query terms, to find the same rule text again."""

from __future__ import annotations

from convqa.components.base import Rewriter
from convqa.components.members import member
from convqa.domain import Query, Rewrite, Turn
from convqa.sharc.replies import user_statements
from convqa.text.dialogue import open_question

_STATEMENTS = 0.3
"""Weight of words of the scenario and other statements, relative to words of the question."""


@member
class Statements(Rewriter):
    """Search the open question with the words of the user's statements and of the system's questions as terms.

    The system's questions count as much as the question, because they are usually worded like the rule. The text of
    the rewrite is the question.
    """

    def rewrite(self, turn: Turn) -> Rewrite:
        question, said = open_question(turn), user_statements(turn)
        terms = [
            (said.statements, _STATEMENTS),
            *((asked, 1.0) for asked, _ in said.replies),
        ]
        query = Query(question, tuple(term for term in terms if term[0]))
        return Rewrite(question, (query,))
