"""Verdicts: the logic of the rules over facts, what is asked next, and what a conversation reveals."""

from __future__ import annotations

import pytest

from convqa.sharc.rules import rules
from convqa.sharc.verdict import Fact, apply_rules, as_condition

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
    found = apply_rules(text, QUESTION, replies)
    assert (found.answer, found.open and found.open.question) == (verdict, asked)


def test_a_rule_that_denies_turns_the_answer_round_and_so_does_a_question():
    text = "You can't get the grant if you own a boat."
    assert apply_rules(text, "Can I get the grant?", [Fact(BOAT, True)]).answer == "no"
    assert apply_rules(text, "Can I not get the grant?", [Fact(BOAT, True)]).answer == "yes"
    assert apply_rules(text, "Can I get the grant?", [Fact("Don't you own a boat?", True)]).answer == "yes"


def test_what_is_told_counts_as_what_is_replied():
    told = [Fact(LICENCE, True), Fact(TAX, True)]
    assert apply_rules(ALL, QUESTION, [Fact(BOAT, True)], told).answer == "yes"
    assert apply_rules(ALL, QUESTION, [], told).open.question == BOAT


def test_a_conversation_says_how_conditions_go_together():
    text = "You can get it if:\n\n* you own a boat\n* you hold a licence\n* you pay tax"
    assert apply_rules(text, QUESTION, [Fact(BOAT, True)]).answer == "yes"
    # Nobody would have asked on after a yes, if one were enough.
    assert apply_rules(text, QUESTION, [Fact(BOAT, True), Fact(LICENCE, True)]).open.question == TAX


def test_a_reply_that_settles_nothing_is_not_asked_for_again():
    found = apply_rules(ALL, QUESTION, [Fact(BOAT, None)])
    assert found.answer == "open" and found.open.question == LICENCE
    found = apply_rules(ALL, QUESTION, [Fact(BOAT, None), Fact(LICENCE, True), Fact(TAX, True)])
    assert found.answer == "open" and found.open.question == BOAT and found.unclear


def test_what_no_condition_is_about_was_asked_for_a_reason():
    assert apply_rules(ALL, QUESTION, [Fact("Were you ever a pirate?", False)]).answer == "no"


def test_the_rule_that_the_facts_are_about_is_taken():
    text = f"{ALL}\n\nYou can visit if you have a ticket."
    assert apply_rules(text, "Can I visit?", []).open.question == "Do you have a ticket?"
    assert apply_rules(text, "Can I visit?", [Fact("Do you have a ticket?", True)]).answer == "yes"


def test_rules_that_were_both_asked_about_must_both_agree():
    text = "This person must be 18 or older. They shouldn\u2019t be:\n\n* a child you paid for\n* the other parent"
    old, child, other = "Is this person 18 or older?", "Are they a child you paid for?", "Are they the other parent?"
    ask = "Can this person speak for me?"
    facts = [Fact(old, True), Fact(child, False)]
    assert apply_rules(text, ask, facts).open.question == "Are you the other parent?"
    assert apply_rules(text, ask, [*facts, Fact(other, False)]).answer == "yes"
    assert apply_rules(text, ask, [*facts, Fact(other, True)]).answer == "no"


def test_the_same_condition_of_two_rules_is_asked_for_once():
    text = "If you are a sailor, you can get a pass. If you are a sailor and have a boat, you can get a pass for it."
    found = apply_rules(text, "Can I get a pass for my boat?", [Fact("Are you a sailor?", True)])
    assert found.open is None or found.open.question != "Are you a sailor?"


def test_how_the_text_joins_its_parts_is_not_overruled():
    text = "You can get it if you are over 60 or you live in Wales, unless you have a job."
    old, wales = Fact("Are you over 60?", False), Fact("Do you live in Wales?", True)
    assert apply_rules(text, QUESTION, [old, wales]).open.question == "Do you have a job?"
    assert apply_rules(text, QUESTION, [old, wales, Fact("Do you have a job?", True)]).answer == "no"


def test_a_question_is_only_turned_round_where_the_condition_is_not():
    text = "You can get it if you are an employee not a worker."
    [condition] = rules(text)[0].group.conditions()
    assert apply_rules(text, QUESTION, [Fact(condition.question, True)]).answer == "yes"


def test_what_is_told_settles_nothing_but_its_own_question():
    text = "You can get the pass if you earn \u00a3100. You can get the grant if you earn \u00a3500."
    found = apply_rules(text, "Can I get the grant?", [], [Fact("Do you earn \u00a3100?", True)])
    assert found.answer == "open" and found.open.question == "Do you earn \u00a3500?"
    conditions = list(rules(text)[1].group.conditions())
    assert as_condition(Fact("Do you earn \u00a3100?", True), conditions, 0.5) is None


def test_what_is_open_after_all_that_was_told_chooses_no_rule():
    text = f"{ALL}\n\nYou can visit if you have a ticket."
    nothing_known = [Fact(one, None) for one in (BOAT, LICENCE, TAX, "Do you have a ticket?")]
    assert apply_rules(text, "Can I visit?", [], nothing_known).open.question == "Do you have a ticket?"
    assert apply_rules(ALL, "Have I logged out properly?", [], nothing_known, relevant=0.12).answer == "irrelevant"


def test_a_question_for_what_is_denied():
    text = "You are banned from driving if you have 12 points."
    points = Fact("Do you have 12 points?", True)
    assert apply_rules(text, "Am I banned from driving?", [points]).answer == "yes"
    assert apply_rules(text, "Can I drive?", [points]).answer == "no"


def test_texts_about_something_else_are_irrelevant():
    assert apply_rules(ALL, "Have I logged out properly?", [], relevant=0.12).answer == "irrelevant"
    assert apply_rules("", QUESTION, []).answer == "irrelevant"
    circular = "If you own a boat, you own a boat."
    assert apply_rules(circular, "Do I own a boat?", []).answer == "open"
