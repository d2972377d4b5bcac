"""Weighted terms of the history: which words, which order, and that wild and long histories are borne."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from convqa.components.rewriters.expansion import Expansion
from convqa.domain import Exchange, Query, Turn, TurnId

ADA = (
    Exchange("Who was Ada Lovelace?", "She was a mathematician who worked with Charles Babbage in London."),
    Exchange("What did she write?", "Notes on the engine."),
)


def turn(question, *history, language="en"):
    return Turn(TurnId(1, len(history) + 1), question, tuple(history), language=language)


def terms(question, *history, most=5):
    (query,) = Expansion(terms=most).rewrite(turn(question, *history)).queries
    return [term for term, _ in query.terms]


def test_question_words_and_names_of_answers_in_the_order_they_were_said():
    rewrite = Expansion(terms=5, weight=0.3).rewrite(turn("When was she born?", *ADA))
    wanted = ("Ada", "Lovelace", "Babbage", "London", "write")
    assert rewrite.queries == (Query("When was she born?", tuple((term, 0.3) for term in wanted)),)
    assert rewrite.text == "When was she born? Ada Lovelace Babbage London write"


def test_words_of_the_talk_itself_are_left_out():
    assert terms("Why?", Exchange("Tell me, describe Ada!", "Okay.")) == ["Ada"]


def test_the_first_question_weighs_most():
    assert terms("When was she born?", *ADA, most=2) == ["Ada", "Lovelace"]


def test_blank_exchanges_take_no_factor_from_the_first_and_the_last():
    blank = (Exchange("", ""), Exchange("  ", "\n", status="failed"))
    history = (Exchange("city zeppelin"), Exchange("river balloon"), Exchange("market glider"))
    for most in range(1, 7):
        assert terms("Why?", *blank, *history, *blank, most=most) == terms("Why?", *history, most=most)
    assert terms("Why?", *blank * 200, *ADA, *blank * 99, most=2) == ["Ada", "Lovelace"]


def test_words_of_the_question_are_not_repeated_in_any_form():
    assert terms("What were Ada's engines?", Exchange("Did Ada like an engine?")) == ["like"]


def test_answers_give_names_only_and_not_the_word_that_begins_a_sentence():
    assert terms("Why?", Exchange("", "Zebras live in Botswana. Giraffes graze.")) == ["Botswana"]


def test_an_asked_exchange_gives_the_words_that_were_asked_back_and_the_reply():
    history = (Exchange("Can I apply?", "Are you a veteran?", status="asked"),)
    rewrite = Expansion().rewrite(turn("Yes, navy", *history))
    assert rewrite.queries[0].text == "Can I apply?"
    assert [term for term, _ in rewrite.queries[0].terms] == ["veteran", "navy"]


def test_a_rare_word_beats_a_common_one():
    assert terms("Why?", Exchange("the city or zeppelin"), most=1) == ["zeppelin"]


def test_ten_thousand_exchanges():
    history = [Exchange(f"What did Ada write about engine {n}?", f"She met Babbage {n} times.") for n in range(10_000)]
    start = time.perf_counter()
    rewrite = Expansion().rewrite(turn("Why?", *history))
    assert time.perf_counter() - start < 2
    assert len(rewrite.queries[0].terms) == 5
    assert {"Ada", "Babbage"} <= set(rewrite.text.split())


@pytest.mark.parametrize("question", ["من كتب الكتاب؟", "谁写了这本书？", "👍🏽?", "\x00", "\ud800 İstanbul'un?", ""])
def test_scripts_signs_and_nothing(question):
    history = (Exchange(question, question), Exchange(question, "", status="unanswered"))
    assert Expansion().rewrite(turn(question, *history)).queries[0].text == question
    assert Expansion().rewrite(turn("Why?", *history)).text.startswith("Why?")


wild = st.text(alphabet=st.one_of(st.characters(), st.sampled_from("İıßΣς'’.- AZ\r\n\u0301")), max_size=60)


@given(wild, st.lists(st.builds(Exchange, wild, wild, status=st.sampled_from(["answered", "asked", "failed"]))))
def test_terms_are_words_of_the_history(question, history):
    made = Expansion().rewrite(turn(question, *history))
    said = " ".join([question, *(f"{exchange.question} {exchange.answer}" for exchange in history)])
    assert all(term in said for term, _ in made.queries[0].terms)
    assert len(made.queries[0].terms) <= 5


def test_contractions_are_no_terms():
    history = (Exchange("I\u2019m asking what they don't say about Hepatitis?", "We\u2019ve said that I'm Paul."),)
    rewrite = Expansion().rewrite(Turn(TurnId(1, 2), "And now?", history))
    assert {term for term, _ in rewrite.queries[0].terms} == {"asking", "say", "Hepatitis", "Paul"}
