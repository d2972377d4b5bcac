"""The builder that asks back: labels, questions, what it cites, what it remembers, and what it leaves to another."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from convqa.components.base import Builder
from convqa.domain import (
    Exchange,
    Hit,
    Passage,
    Ranking,
    Rankings,
    Reading,
    Readings,
    Rewrite,
    Rewrites,
    Span,
    Turn,
    TurnId,
    Turns,
)
from convqa.sharc.builder import Rules

GRANT = Passage("grant", "You can get the grant if all of the following apply:\n\n* you own a boat\n* you live in Rome")
FISH = Passage("fish", "The sea is deep. Fish live in it.")
OWN = Passage("own", "If you can get the grant, you get it at once.")
QUESTION = "Can I get the grant?"
BOAT, ROME = "Do you own a boat?", "Do you live in Rome?"


def asked(said, back):
    return Exchange(said, back, status="asked")


def answer(builder, question, *history, passages=(GRANT,), scenario="", language="en"):
    turn = Turn(TurnId(1, len(history) + 1), question, history, scenario=scenario, language=language)
    ranking = Ranking(tuple(Hit(one.id, 9.0 - rank, one) for rank, one in enumerate(passages)))
    spans = tuple(Span(one.id, 0, len(one.text), one.text, 1.0) for one in passages)
    builder.warm_up()
    columns = (
        Turns((turn,)),
        Rewrites((Rewrite.unchanged(question),)),
        Rankings((ranking,)),
        Readings((Reading(spans, 0.0),)),
    )
    (found,) = builder.run(*columns)["answers"].items
    return found


def quotes(found):
    texts = {one.id: one.text for one in (GRANT, FISH, OWN)}
    return [[texts[one.passage_id][one.start : one.end] for one in said.citations] for said in found.sentences]


def test_a_conversation_from_the_question_to_the_label():
    rules = Rules()
    first = answer(rules, QUESTION)
    assert (first.kind, first.text) == ("question", BOAT) and quotes(first) == [["you own a boat"]]
    second = answer(rules, "Yes", asked(QUESTION, BOAT))
    assert (second.kind, second.text) == ("question", ROME)
    third = answer(rules, "Yes, I do", asked(QUESTION, BOAT), asked("Yes", ROME))
    assert (third.kind, third.text, third.label) == ("answer", "Yes", "Yes")
    assert quotes(third) == [["you own a boat", "you live in Rome"]]
    assert answer(rules, "No", asked(QUESTION, BOAT)).label == "No"


def test_what_the_scenario_says_is_not_asked():
    rules = Rules()
    assert answer(rules, QUESTION, scenario="I own a boat.").text == ROME
    assert answer(rules, QUESTION, scenario="I own a boat. I live in Rome.").label == "Yes"
    assert answer(rules, f"I do not own a boat. {QUESTION}").label == "No"


def test_a_reply_in_other_words_than_yes_and_no_is_understood_or_not_asked_for_again():
    assert answer(Rules(), "I own a boat", asked(QUESTION, BOAT)).text == ROME
    assert answer(Rules(), "It rains", asked(QUESTION, BOAT)).text == ROME
    left_open = answer(Rules(), "Yes", asked(QUESTION, BOAT), asked("It rains", ROME))
    assert left_open.kind == "none" and left_open.reason == f"the reply to {BOAT!r} says neither yes nor no"


def test_what_was_replied_for_an_earlier_question_is_remembered():
    history = (asked("Can I visit the port?", BOAT), Exchange("Yes", "Yes"))
    assert answer(Rules(), QUESTION, *history).text == ROME


def test_texts_about_something_else():
    assert answer(Rules(), QUESTION, passages=(FISH,)).label == "Irrelevant"
    assert answer(Rules(min_word_overlap=0.0), QUESTION, passages=(FISH,)).label != "Irrelevant"
    nothing = answer(Rules(), QUESTION, passages=())
    assert nothing.kind == "none" and nothing.reason == "no passage that was found has a text"


def test_another_builder_answers_what_no_rule_decides():
    rules = Rules(builder="sentences")
    said = answer(rules, "How deep is the sea?", passages=(FISH, GRANT))
    assert said.kind == "answer" and said.label == "" and said.text.startswith("The sea is deep.")
    assert answer(rules, QUESTION, passages=(FISH,)).label == ""
    assert answer(rules, "Ist das so?", language="de").label == ""
    assert answer(rules, QUESTION).text == BOAT


def test_beside_another_builder_a_decision_is_said_with_the_rule():
    said = answer(Rules(builder="sentences"), "Yes", asked(QUESTION, BOAT), asked("Yes", ROME))
    assert said.label == "Yes"
    assert said.text.startswith("Yes. You can get the grant if all of the following apply: * you own a boat")
    assert quotes(said) == [["you own a boat", "you live in Rome"], [GRANT.text]]
    long = Passage("grant", GRANT.text + "\n* you are " + "very " * 100 + "old")
    said = answer(Rules(builder="sentences"), "No", asked(QUESTION, BOAT), passages=(long,))
    assert said.text == "No. You can get the grant if all of the following apply: * you own a boat"


def test_of_several_passages_the_first_that_tells_something_or_was_asked_about():
    assert answer(Rules(max_passages=1), QUESTION, passages=(OWN, GRANT)).sentences[0].citations[0].passage_id == "own"
    assert answer(Rules(max_passages=2), QUESTION, passages=(OWN, GRANT)).text == BOAT
    other = Passage("other", "You can get the grant if you are a sailor.")
    found = answer(Rules(max_passages=2), "Yes", asked(QUESTION, BOAT), passages=(other, GRANT))
    assert found.text == ROME


def test_languages_and_parameters_that_cannot_be():
    assert "English only" in answer(Rules(), QUESTION, language="de").reason
    with pytest.raises(ValidationError):
        Rules(min_condition_score=2.0)
    assert issubclass(Rules, Builder) and set(Rules().identity()) == {"conditions"}
