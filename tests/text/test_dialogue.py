"""What a turn asks: the open question behind what was asked back, and what is a question at all."""

from __future__ import annotations

import time

import pytest

from convqa.domain import Exchange, Turn, TurnId
from convqa.text.dialogue import added, follows_up, is_question, open_question, replies

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


@pytest.mark.parametrize(
    ("question", "sign"),
    [
        ("When was she born?", "refers"),
        ("What did Ada Lovelace write in that year?", "refers"),
        ("Were there any other engines?", "refers"),
        ("And Berlin?", "continues"),
        ("What about the population of Berlin?", "continues"),
        ("Why?", "bare"),
        ("", "bare"),
        ("\U0001f44d", "bare"),
        ("What were the causes?", "definite"),
        ("Who was Ada Lovelace?", ""),
        ("what is photosynthesis", ""),
        ("What is the capital of France?", ""),
        ("What was the population in 1815?", ""),
        ("How did the critics receive it?", "refers"),
        ("How did the critics receive flash and thunder during long summer nights?", ""),
    ],
)
def test_the_sign_that_a_question_needs_the_conversation(question, sign):
    assert follows_up(question) == sign


def test_no_length_decides():
    assert follows_up("Berlin?") == "" and follows_up("It?") == "refers"
    long = "What did the mathematician from London write about the engine that Charles Babbage designed"
    assert follows_up(f"{long}?") == "refers"  # "that" may refer: better one rewrite too many than too few
    assert follows_up(f"{long} after he died?") == "refers"


def test_german_has_its_own_signs_and_other_languages_are_unknown():
    assert follows_up("Wann wurde er geboren?", "de") == "refers"
    assert follows_up("Und Berlin?", "de") == "continues"
    assert follows_up("Wer war Ada Lovelace?", "de") == ""
    assert follows_up("Qui est Ada Lovelace?", "fr") == "unknown"


@pytest.mark.parametrize("language", ["en", "de"])
def test_of_other_scripts_nothing_is_known_whatever_the_language_says(language):
    for question in (
        "\u4ed6\u5728\u54ea\u91cc\u51fa\u751f?",
        "\u0623\u064a\u0646 \u0648\u0644\u062f\u061f",
        "\u0413\u0434\u0435 \u043e\u043d \u0436\u0438\u043b?",
    ):
        assert follows_up(question, language) == "unknown"
    assert follows_up("What does \u0632\u064a\u062a mean in Arabic?") == ""
