"""Conditions as questions: the kinds of clauses that rule texts have, and words of any kind."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convqa.sharc.questions import ask


@pytest.mark.parametrize(
    ("condition", "question"),
    [
        ("you\u2019re on a low income", "Are you on a low income?"),
        ("you have a child", "Do you have a child?"),
        ("you\u2019ve lived here for 10 years", "Have you lived here for 10 years?"),
        ("you must be over 18", "Are you over 18?"),
        ("applicants must have legal capacity", "Do applicants have legal capacity?"),
        ("your baby was stillborn", "Was your baby stillborn?"),
        ("your income goes down", "Does your income go down?"),
        ("the business provides tools", "Does the business provide tools?"),
        ("you sold business premises", "Did you sell business premises?"),
        ("you stopped working", "Did you stop working?"),
        ("earn \u00a3113 a week", "Do you earn \u00a3113 a week?"),
        ("have worked for 26 weeks", "Have you worked for 26 weeks?"),
        ("born on or after 6 April 1951", "Are you born on or after 6 April 1951?"),
        ("planning to come back", "Are you planning to come back?"),
        ("company directors", "Are you a company director?"),
        ("students or apprentices under 19", "Are you a student or apprentice under 19?"),
        ("families on a low income", "Are you a family on a low income?"),
        ("business goods used for personal reasons", "Is it business goods used for personal reasons?"),
        ("Maternity Allowance", "Is it Maternity Allowance?"),
        ("they can\u2019t send someone else", "Can they send someone else?"),
        ("you get it (not this, that)", "Do you get it (not this, that)?"),
    ],
)
def test_the_question_of_a_condition(condition, question):
    assert ask(condition).question == question


@pytest.mark.parametrize(
    ("condition", "wanted"),
    [
        ("you don't have a job", False),
        ("you are not a relative", False),
        ("your parent can no longer manage", False),
        ("you are not only young", True),
        ("you get a benefit (not this one)", True),
        ("you work", True),
        ("you\u2019re an employee not a worker", True),
    ],
)
def test_a_negated_condition_is_asked_for_without_the_negation(condition, wanted):
    asked = ask(condition)
    assert asked.wanted == wanted
    assert wanted or (" not " not in asked.question and "no longer" not in asked.question)


@given(st.text(max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_text_becomes_a_line_that_asks_or_nothing(text):
    question = ask(text).question
    assert question == "" or (question.endswith("?") and "\n" not in question)
