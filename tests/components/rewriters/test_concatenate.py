"""Earlier questions before the question."""

from __future__ import annotations

import pytest

from convqa.components.rewriters.concatenate import Concatenate
from convqa.domain import Exchange, Query, Turn, TurnId

HISTORY = tuple(Exchange(f"q{number}?", f"a{number}") for number in range(1, 5))


@pytest.mark.parametrize(
    ("first", "wanted"),
    [(1, "q1? why?"), (2, "q1? q2? why?"), (0, "why?"), (99, "q1? q2? q3? q4? why?")],
)
def test_first_questions(first, wanted):
    rewrite = Concatenate(max_questions=first).rewrite(Turn(TurnId(1, 5), "why?", HISTORY))
    assert rewrite.text == wanted
    assert rewrite.queries == (Query(wanted),)


def test_an_open_question_is_said_once():
    asked = Exchange("Can I apply?", "Are you over 60?", status="asked")
    assert Concatenate(max_questions=9).rewrite(Turn(TurnId(1, 2), "Yes", (asked,))).text == "Can I apply?"


def test_blank_exchanges_do_not_take_the_place_of_the_topic():
    blank = (Exchange("", ""), Exchange("  ", "\n", status="failed"))
    for first in (1, 2):
        rewriter = Concatenate(max_questions=first)
        plain = rewriter.rewrite(Turn(TurnId(1, 5), "why?", HISTORY))
        assert rewriter.rewrite(Turn(TurnId(1, 9), "why?", (*blank, *HISTORY, *blank))) == plain
    # Where the system spoke first, there is an exchange, and its question is empty.
    greeted = (Exchange("", "Hello!"), *HISTORY)
    assert Concatenate(max_questions=1).rewrite(Turn(TurnId(1, 6), "why?", greeted)).text == "why?"


def test_empty_questions_leave_no_blanks():
    history = (Exchange(" ", "", status="failed"), Exchange("q?"))
    assert Concatenate(max_questions=9).rewrite(Turn(TurnId(1, 3), "why?", history)).text == "q? why?"
