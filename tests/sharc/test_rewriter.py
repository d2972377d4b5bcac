"""The rewriter that searches for what was told and asked back, too."""

from __future__ import annotations

from convqa.domain import Exchange, Query, Turn, TurnId
from convqa.sharc.rewriter import Statements

ASKED = Exchange("Can I apply?", "Are you over 60?", status="asked")


def test_the_question_stays_and_the_rest_adds_to_it():
    found = Statements().rewrite(Turn(TurnId(1, 2), "Yes", (ASKED,), scenario="I live in Rome."))
    assert found.text == "Can I apply?"
    assert found.queries == (Query("Can I apply?", (("I live in Rome.", 0.3), ("Are you over 60?", 1.0))),)


def test_what_was_not_said_is_left_out():
    assert Statements().rewrite(Turn(TurnId(1, 1), "Can I apply?")).queries == (Query("Can I apply?"),)
