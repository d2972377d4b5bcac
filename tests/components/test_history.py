"""What of a history a model is shown."""

from __future__ import annotations

import time

from convqa.components.history import MAX_EXCHANGES, MAX_UTTERANCE_CHARS, Past, fitted, said_before
from convqa.domain import Exchange, Turn, TurnId


def turn(question, *history):
    return Turn(TurnId(1, len(history) + 1), question, tuple(history))


def lengths(texts):
    return [len(text.split()) for text in texts]


def test_empty_exchanges_are_left_out_and_lines_are_joined():
    history = (Exchange("", ""), Exchange("Who\n wrote it?", ""), Exchange("", "Ada."), Exchange(" ", "\n"))
    assert said_before(turn("Why?", *history)) == [Past("Who wrote it?", ""), Past("", "Ada.")]


def test_idle_exchanges_are_passed_over():
    history = (
        Exchange("hi", "", "hi", "idle"),
        Exchange("Who wrote it?", "Ada."),
        Exchange("thanks", "", None, "idle"),
    )
    assert said_before(turn("Why?", *history)) == [Past("Who wrote it?", "Ada.")]


def test_questions_are_shown_as_they_were_asked():
    history = (Exchange("Why?", "So.", "Why did Ada write it?"), Exchange("When?", "1843."))
    assert [said.question for said in said_before(turn("?", *history))] == ["Why?", "When?"]


def test_the_open_question_is_not_among_what_was_said():
    history = (
        Exchange("Can I apply?", "Are you over 60?", status="asked"),
        Exchange("Yes", "Are you a veteran?", status="asked"),
    )
    said = said_before(turn("No", *history))
    assert said == [Past("", "Are you over 60?"), Past("Yes", "Are you a veteran?"), Past("No", "")]


def test_a_question_in_place_of_a_reply_is_open_itself_and_what_went_before_is_told():
    history = (
        Exchange("Can I apply?", "Are you over 60?", status="asked"),
        Exchange("What about my wife?", "Is she a veteran?", status="asked"),
    )
    before = [Past("Can I apply?", "Are you over 60?")]
    assert said_before(turn("Yes", *history)) == [*before, Past("", "Is she a veteran?"), Past("Yes", "")]
    asked = said_before(turn("How much is it?", *history))
    assert asked == [*before, Past("What about my wife?", "Is she a veteran?")]


def test_of_more_replies_than_are_looked_at_the_first_and_the_latest_are_told():
    history = [Exchange("q0", "f0", status="asked")]
    history += [Exchange(f"a{n}", f"f{n}", status="asked") for n in range(1, MAX_EXCHANGES + 20)]
    said = said_before(turn("Yes", *history))
    assert said[-1] == Past("Yes", "") and len(said) == MAX_EXCHANGES + 2


def test_ten_thousand_exchanges_are_the_first_and_the_latest():
    answer = "word " * 100_000
    history = [Exchange(f"q{number}", answer) for number in range(10_000)]
    start = time.process_time()
    said = said_before(turn("Why?", *history))
    assert time.process_time() - start < 5
    assert [exchange.question for exchange in said] == ["q0", *(f"q{n}" for n in range(10_000 - MAX_EXCHANGES, 10_000))]
    assert all(len(exchange.answer) <= MAX_UTTERANCE_CHARS for exchange in said)


def test_the_first_exchange_is_the_first_in_which_something_was_said():
    history = (
        Exchange("", ""),
        Exchange(" ", "\n"),
        Exchange("topic"),
        *(Exchange(f"q{n}") for n in range(MAX_EXCHANGES + 9)),
    )
    assert [said.question for said in said_before(turn("?", *history))][:2] == ["topic", "q9"]


def test_long_texts_are_cut_between_words_where_there_are_any():
    said = said_before(turn("?", Exchange("seven77 " * 1000, "\u8c01" * 5000)))
    assert said[0].question.endswith("seven77") and said[0].answer == "\u8c01" * MAX_UTTERANCE_CHARS


SAID = [Past("what is one", "a b c"), Past("two two", "d e"), Past("three three", "f"), Past("four", "g")]


def test_all_is_shown_where_there_is_room():
    assert fitted(SAID, 100, lengths) == SAID
    assert fitted([], 100, lengths) == []


def test_the_latest_are_shown_where_there_is_little_room():
    assert fitted(SAID, 23, lengths) == SAID[2:]
    assert fitted(SAID, 0, lengths) == []
