"""The question as it stands."""

from __future__ import annotations

from convqa.components.rewriters.copy import Copy
from convqa.domain import Exchange, Query, Rewrite, Turn, TurnId


def test_the_question_is_unchanged():
    turn = Turn(TurnId(1, 2), " What's  that? ", (Exchange("Who?", "Ada"),))
    assert Copy().rewrite(turn) == Rewrite(" What's  that? ", (Query(" What's  that? "),))


def test_a_reply_to_a_question_asked_back_leaves_the_question_open():
    turn = Turn(TurnId(1, 2), "Yes", (Exchange("Can I apply?", "Are you over 60?", status="asked"),))
    assert Copy().rewrite(turn).text == "Can I apply?"
