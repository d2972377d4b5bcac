"""Rule texts as trees of conditions: how they are joined, what they grant, and where they stand."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convqa.sharc.conditions import Group
from convqa.sharc.rules import rules

DUTIES = (
    "## Pay\n\nTo qualify for SMP you must:\n\n* earn on average \u00a3113 a week\n* give proof you\u2019re pregnant"
)
KINDS = "The eligible items include:\n\n* ambulances\n* goods for disabled people"


def shape(part):
    if not isinstance(part, Group):
        return part.question if part.wanted else f"not {part.question}"
    found = ("all" if part.every else "any", *(shape(one) for one in part.parts))
    return found if part.wanted else ("never", found)


@pytest.mark.parametrize(
    ("text", "tree", "grants"),
    [
        # The denial comes after the condition.
        (
            "Contracts for payments below the minimum wage are not legally binding.",
            ("all", "not Are payments below the minimum wage legally binding?"),
            False,
        ),
        (DUTIES, ("all", "Do you earn on average \u00a3113 a week?", "Do you give proof you are pregnant?"), True),
        (KINDS, ("any", "Is it ambulances?", "Is it goods for disabled people?"), True),
        (
            "You can get it if one of the following applies:\n\n* you work\n* you study",
            ("any", "Do you work?", "Do you study?"),
            True,
        ),
        (
            "You can get it if all of the following apply:\n\n* you work\n* you study",
            ("all", "Do you work?", "Do you study?"),
            True,
        ),
        (
            "You may be a Veteran if:\n\n* you work, or\n* you study",
            ("any", "Do you work?", "Do you study?"),
            True,
        ),
        (
            "You get it if you get UC, you\u2019re not employed and one of the following apply:"
            "\n\n* you work\n* you own it",
            ("all", "Do you get UC?", "not Are you employed?", ("any", "Do you work?", "Do you own it?")),
            True,
        ),
        (
            "You can\u2019t get the payment if you live in Cyprus, France or Greece.",
            ("all", "Do you live in Cyprus, France or Greece?"),
            False,
        ),
        (
            "You get it if you\u2019re eligible for it, unless you\u2019ve contracted out of it.",
            ("all", "Are you eligible for it?", ("never", ("any", "Have you contracted out of it?"))),
            True,
        ),
        (
            "You get it if you are over 60, your income is low and you have a child.",
            ("all", "Are you over 60?", "Is your income low?", "Do you have a child?"),
            True,
        ),
        (
            "If you work, you have a child, and you live in Rome, you can get it.",
            ("all", "Do you work?", "Do you have a child?", "Do you live in Rome?"),
            True,
        ),
        (
            "You get it if none of the following apply:\n\n* you work\n* you study",
            ("never", ("any", "Do you work?", "Do you study?")),
            True,
        ),
        ("You can get it if you:\n\n1. work\n2. study", ("any", "Do you work?", "Do you study?"), True),
        (
            "To qualify:\n\n* you must live in Rome\n* you must have a job",
            ("all", "Do you live in Rome?", "Do you have a job?"),
            True,
        ),
        ("People who are not residents can't get the grant.", ("all", "not Are you a resident?"), False),
        ("Workers who are over 60 are not entitled to it.", ("all", "Are you over 60?"), False),
        (
            "You must be over 18 and have a bank account.",
            ("all", "Are you over 18?", "Do you have a bank account?"),
            True,
        ),
        ("If you work you can get it.", ("all", "Do you work?"), True),
        (
            "Help is for those who have served or are disabled.",
            ("any", "Have you served?", "Are you disabled?"),
            True,
        ),
        (
            "Someone is a worker if:\n\n* they get paid\n* their reward is money",
            ("any", "Do they get paid?", "Is their reward money?"),
            True,
        ),
        (
            "Tax relief applies to gifts, fees and time at sea.",
            ("any", "Is it gifts?", "Is it fees?", "Is it time at sea?"),
            True,
        ),
    ],
)
def test_a_rule_and_its_conditions(text, tree, grants):
    [rule] = rules(text)
    assert shape(rule.group) == tree and rule.grants == grants


def test_what_need_not_be_is_no_rule():
    assert rules("You don\u2019t need to be a relative.") == ()
    assert rules("") == () and rules("\n\n## A title\n") == ()


@pytest.mark.parametrize("text", ["| age | fee |\n", "<ul><li>Rome</li></ul>", "* -\n* -", "If.", "1. 2."])
def test_what_cannot_be_asked_for_is_no_rule(text):
    assert rules(text) == ()


def test_several_rules_stand_where_their_text_is():
    text = f"{KINDS}\n\nYou can apply if you work."
    first, second = rules(text)
    assert text[second.start : second.end] == "You can apply if you work."
    assert text[slice(first.start, first.end)].startswith("The eligible")
    said = [text[one.start : one.end] for rule in (first, second) for one in rule.group.conditions()]
    assert said == ["ambulances", "goods for disabled people", "you work."]


_WORDS = st.sampled_from(
    ["if", "unless", "you", "must", "not", "and", "or", "the", "a", "baby", "live", "work", "in", "Rome", "who", "is",
     "have", "been", "18", ".", ",", ";", ":", "*", "\n", "(", ")", "#"]
)  # fmt: skip


@given(st.one_of(st.text(max_size=300), st.lists(_WORDS, max_size=60).map(" ".join)))
@settings(max_examples=300, deadline=None)
def test_every_condition_of_any_text_stands_in_it(text):
    for rule in rules(text):
        assert 0 <= rule.start < rule.end <= len(text)
        for condition in rule.group.conditions():
            assert 0 <= condition.start <= condition.end <= len(text)


@pytest.mark.parametrize("piece", ["A, ", "if ", "and you ", "* a\n", "(", "Aa Aa, ", "you or ", "x" * 10, "! \u02b9"])
def test_long_texts_take_time_that_grows_with_them(piece):
    rules(piece * 10)
    start = time.perf_counter()
    rules(piece * 3000)
    assert time.perf_counter() - start < 4  # some .1 s; 10 and more, were each looked for from the beginning
