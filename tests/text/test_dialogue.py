"""What a turn asks: the open question behind what was asked back, and what is a question at all."""

from __future__ import annotations

import time

import pytest

from convqa.domain import Exchange, Turn, TurnId
from convqa.text.dialogue import added, is_question, open_question, replies

ASKED = (Exchange("Can I apply?", "Are you over 60?", status="asked"), Exchange("Yes", "Here?", status="asked"))


@pytest.mark.parametrize(
    ("history", "said", "opened", "replied"),
    [
        (ASKED, "No", "Can I apply?", (("Are you over 60?", "Yes"), ("Here?", "No"))),
        (ASKED, "What?", "Can I apply?", (("Are you over 60?", "Yes"), ("Here?", "What?"))),
        (ASKED, "How much is it?", "How much is it?", ()),
        (ASKED, "do they pay my rent", "do they pay my rent", ()),
        # The reply to the first follow-up was a new question, which is the open one now.
        (
            (ASKED[0], Exchange("And my son?", "Is he 12?", status="asked")),
            "Yes",
            "And my son?",
            (("Is he 12?", "Yes"),),
        ),
        # What was first said need be no question.
        (
            (Exchange("I want to apply", "Are you 60?", status="asked"),),
            "Yes",
            "I want to apply",
            (("Are you 60?", "Yes"),),
        ),
        ((*ASKED, Exchange("Yes", "You can.")), "Yes", "Yes", ()),
        ((), "Yes", "Yes", ()),
    ],
)
def test_a_reply_goes_on_with_the_open_question_and_a_question_begins_anew(history, said, opened, replied):
    turn = Turn(TurnId(1, 3), said, history)
    assert open_question(turn) == opened
    assert replies(turn) == replied


@pytest.mark.parametrize(
    "text",
    [
        "Does this count?", 'He asked "why?"', "What about my wife", "isn't my son covered", "Where do I send it",
        "who\u2019s eligible", "should I", "have you a form", "Czy mogę?", "Why not?!", "how much money",
    ],
)  # fmt: skip
def test_questions_are_known_by_their_mark_or_their_beginning(text):
    assert is_question(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "?", "Yes", "No.", "Yes?", "Why?", "Sorry?", "I am", "It does", "I don't know", "Not yet", "When I retired",
        "where I live", "What I earn is little", "Did it myself", "Has a job", "May 2019", "Can't say", "Do not know",
        "Tak, mam", "Island", "Willing",
    ],
)  # fmt: skip
def test_replies_are_no_questions(text):
    assert not is_question(text)


@pytest.mark.parametrize(
    ("question", "text", "words"),
    [
        ("Who wrote it?", "Who wrote Faust?", ["Faust"]),
        ("And his wife?", "And Goethe's wife?", ["Goethe's"]),
        ("Who wrote Faust?", "Who wrote Faust?", []),
        ("who wrote faust", "Who wrote Faust?", []),
        ("Why?", "Why did Goethe write Faust?", ["did Goethe write Faust"]),
        ("What is it?", "What is (the) U.S.?", ["the) U.S"]),
        ("", "Faust?", ["Faust"]),
        ("Who wrote the play Faust?", "Who wrote Faust?", []),
    ],
)
def test_the_words_that_a_rewrite_adds(question, text, words):
    assert [text[start:end] for start, end in added(question, text)] == words


def test_added_words_of_long_texts_cost_nothing():
    start = time.process_time()
    assert added("e " * 100_000, "e " * 100_000 + "Faust") == ()
    added("a b c " * 100, "b a c " * 100)
    assert time.process_time() - start < 1
