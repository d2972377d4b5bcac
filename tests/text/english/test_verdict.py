"""Verdicts: the logic of the rules over facts, what is asked next, and what a conversation reveals."""

from __future__ import annotations

import pytest

from convqa.text.english.rules import rules
from convqa.text.english.verdict import Fact, as_condition, ruling

ALL = "You can get it if all of the following apply:\n\n* you own a boat\n* you hold a licence\n* you pay tax"
ANY = "You can get it if any of the following apply:\n\n* you own a boat\n* you hold a licence\n* you pay tax"
BOAT, LICENCE, TAX = "Do you own a boat?", "Do you hold a licence?", "Do you pay tax?"
QUESTION = "Can I get it?"


@pytest.mark.parametrize(
    ("text", "answers", "verdict", "asked"),
    [
        (ALL, [], "open", BOAT),
        (ALL, [True], "open", LICENCE),
        (ALL, [False], "no", None),
        (ALL, [True, True, True], "yes", None),
        (ALL, [True, True, False], "no", None),
        (ANY, [False], "open", LICENCE),
        (ANY, [True], "yes", None),
        (ANY, [False, False, False], "no", None),
    ],
)
def test_all_of_and_any_of(text, answers, verdict, asked):
    replies = [Fact(*one) for one in zip([BOAT, LICENCE, TAX], answers, strict=False)]
    found = ruling(text, QUESTION, replies)
    assert (found.verdict, found.open and found.open.question) == (verdict, asked)


def test_a_rule_that_denies_turns_the_answer_round_and_so_does_a_question():
    text = "You can't get the grant if you own a boat."
    assert ruling(text, "Can I get the grant?", [Fact(BOAT, True)]).verdict == "no"
    assert ruling(text, "Can I not get the grant?", [Fact(BOAT, True)]).verdict == "yes"
    assert ruling(text, "Can I get the grant?", [Fact("Don't you own a boat?", True)]).verdict == "yes"


def test_what_is_told_counts_as_what_is_replied():
    told = [Fact(LICENCE, True), Fact(TAX, True)]
    assert ruling(ALL, QUESTION, [Fact(BOAT, True)], told).verdict == "yes"
    assert ruling(ALL, QUESTION, [], told).open.question == BOAT


def test_a_conversation_says_how_conditions_go_together():
    text = "You can get it if:\n\n* you own a boat\n* you hold a licence\n* you pay tax"
    assert ruling(text, QUESTION, [Fact(BOAT, True)]).verdict == "yes"
    # Nobody would have asked on after a yes, if one were enough.
    assert ruling(text, QUESTION, [Fact(BOAT, True), Fact(LICENCE, True)]).open.question == TAX


def test_a_reply_that_settles_nothing_is_not_asked_for_again():
    found = ruling(ALL, QUESTION, [Fact(BOAT, None)])
    assert found.verdict == "open" and found.open.question == LICENCE
    found = ruling(ALL, QUESTION, [Fact(BOAT, None), Fact(LICENCE, True), Fact(TAX, True)])
    assert found.verdict == "open" and found.open.question == BOAT and found.unclear


def test_what_no_condition_is_about_was_asked_for_a_reason():
    assert ruling(ALL, QUESTION, [Fact("Were you ever a pirate?", False)]).verdict == "no"


def test_the_rule_that_the_facts_are_about_is_taken():
    text = f"{ALL}\n\nYou can visit if you have a ticket."
    assert ruling(text, "Can I visit?", []).open.question == "Do you have a ticket?"
    assert ruling(text, "Can I visit?", [Fact("Do you have a ticket?", True)]).verdict == "yes"


def test_rules_that_were_both_asked_about_must_both_agree():
    text = "This person must be 18 or older. They shouldn\u2019t be:\n\n* a child you paid for\n* the other parent"
    old, child, other = "Is this person 18 or older?", "Are they a child you paid for?", "Are they the other parent?"
    ask = "Can this person speak for me?"
    facts = [Fact(old, True), Fact(child, False)]
    assert ruling(text, ask, facts).open.question == "Are you the other parent?"
    assert ruling(text, ask, [*facts, Fact(other, False)]).verdict == "yes"
    assert ruling(text, ask, [*facts, Fact(other, True)]).verdict == "no"


def test_the_same_condition_of_two_rules_is_asked_for_once():
    text = "If you are a sailor, you can get a pass. If you are a sailor and have a boat, you can get a pass for it."
    found = ruling(text, "Can I get a pass for my boat?", [Fact("Are you a sailor?", True)])
    assert found.open is None or found.open.question != "Are you a sailor?"


def test_how_the_text_joins_its_parts_is_not_overruled():
    text = "You can get it if you are over 60 or you live in Wales, unless you have a job."
    old, wales = Fact("Are you over 60?", False), Fact("Do you live in Wales?", True)
    assert ruling(text, QUESTION, [old, wales]).open.question == "Do you have a job?"
    assert ruling(text, QUESTION, [old, wales, Fact("Do you have a job?", True)]).verdict == "no"


def test_a_question_is_only_turned_round_where_the_condition_is_not():
    text = "You can get it if you are an employee not a worker."
    [condition] = rules(text)[0].group.conditions()
    assert ruling(text, QUESTION, [Fact(condition.question, True)]).verdict == "yes"


def test_what_is_told_settles_nothing_but_its_own_question():
    text = "You can get the pass if you earn \u00a3100. You can get the grant if you earn \u00a3500."
    found = ruling(text, "Can I get the grant?", [], [Fact("Do you earn \u00a3100?", True)])
    assert found.verdict == "open" and found.open.question == "Do you earn \u00a3500?"
    conditions = list(rules(text)[1].group.conditions())
    assert as_condition(Fact("Do you earn \u00a3100?", True), conditions, 0.5) is None


def test_what_is_open_after_all_that_was_told_chooses_no_rule():
    text = f"{ALL}\n\nYou can visit if you have a ticket."
    nothing_known = [Fact(one, None) for one in (BOAT, LICENCE, TAX, "Do you have a ticket?")]
    assert ruling(text, "Can I visit?", [], nothing_known).open.question == "Do you have a ticket?"
    assert ruling(ALL, "Have I logged out properly?", [], nothing_known, relevant=0.12).verdict == "irrelevant"


def test_a_question_for_what_is_denied():
    text = "You are banned from driving if you have 12 points."
    points = Fact("Do you have 12 points?", True)
    assert ruling(text, "Am I banned from driving?", [points]).verdict == "yes"
    assert ruling(text, "Can I drive?", [points]).verdict == "no"


def test_texts_about_something_else_are_irrelevant():
    assert ruling(ALL, "Have I logged out properly?", [], relevant=0.12).verdict == "irrelevant"
    assert ruling("", QUESTION, []).verdict == "irrelevant"
    circular = "If you own a boat, you own a boat."
    assert ruling(circular, "Do I own a boat?", []).verdict == "open"
