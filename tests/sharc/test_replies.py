"""What the user has told: replies, earlier ones, statements; and which replies say yes or no."""

from __future__ import annotations

import pytest

from convqa.domain import Exchange, Turn, TurnId
from convqa.sharc.replies import agreed, user_statements


def turn(question, *history, scenario=""):
    return Turn(TurnId(1, len(history) + 1), question, history, scenario=scenario)


def asked(said, back):
    return Exchange(said, back, status="asked")


def test_replies_to_the_open_question_and_to_earlier_ones_are_kept_apart():
    found = user_statements(
        turn(
            "No",
            asked("Can I apply?", "Are you over 60?"),
            Exchange("Yes", "Yes."),
            asked("Can I visit?", "Do you live here?"),
        )
    )
    assert found.replies == (("Do you live here?", "No"),)
    assert found.earlier == (("Are you over 60?", "Yes"),)


def test_a_question_in_place_of_a_reply_is_no_reply():
    found = user_statements(
        turn("Yes", asked("Can I apply?", "Are you over 60?"), asked("Can I visit?", "Do you live here?"))
    )
    assert found.replies == (("Do you live here?", "Yes"),) and found.earlier == ()


def test_statements_are_the_scenario_and_what_asks_nothing():
    found = user_statements(
        turn(
            "I live in Rome with my cat.",
            Exchange("I am 70 years old. Can I apply?", "Yes."),
            asked("Can I visit?", "Do you live here?"),
            scenario="I have questions.",
        )
    )
    assert found.statements == "I have questions. I am 70 years old. I live in Rome with my cat."
    assert user_statements(turn("Can I apply?")) == ((), (), "")


def test_of_a_reply_what_it_says_beside_yes_and_no_is_a_statement():
    for reply, said in (("Yes, about 200", ""), ("Yes, since I came to Rome", "since I came to Rome."), ("No", "")):
        assert user_statements(turn(reply, asked("Can I visit?", "Do you live here?"))).statements == said


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("Yes", True), ("yep!", True), ("Of course", True), ("I do", True), ("We are.", True), ("True", True),
        ("No", False), ("Nope", False), ("not yet", False), ("I'm not", False), ("I don\u2019t.", False),
        ("Absolutely not", False), ("Sure, but I don't", False), ("Right now I don\u2019t", False),
        ("Of course not", False),
        ("sure, why not", True), ("That's right.", True), ("No. Actually yes.", None), ("No problem, yes I do", None),
        ("Right now I live in Rome", None), ("correct?", None), ("Never mind", None), ("wrong question", None),
        ("Not sure", None), ("No idea", None), ("N/A", None), ("Yes and no", None), ("Not only that", None),
        ("I am 70", None), ("Maybe", None), ("", None), ("It is in Rome", None), ("Nothing", None), ("Know", None),
    ],
)  # fmt: skip
def test_yes_and_no(reply, said):
    assert agreed(reply) is said
