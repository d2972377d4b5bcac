"""What asks for one fact, and what wants to hear more."""

from __future__ import annotations

import pytest

from convqa.text.facts import asks_for_fact, is_yes_no_question

FACTS = (
    "who took over the company?", "And when was that", "In which country is it spoken?", "Whose idea was it?",
    "How many are there?", "how much is it", "What year did it open?", "What's the population of Tokyo?",
    "What is its capital?", "Is citrus native to Australia?", "Interesting. Is there such a thing?", "Didn't she win?",
    "So, where is it?",
)  # fmt: skip
MORE = (
    "Tell me about the Berlin Wall.", "How does it work?", "Why was it built?", "What are the causes?",
    "What is a tamale?", "Are there any laws on it?", "Can you tell me about the tamale?", "What about Berlin?",
    "I wish to know about it.", "How are tamales made?", "", "?", "tamales", "The man who wrote it",
)  # fmt: skip


@pytest.mark.parametrize("question", FACTS)
def test_a_fact(question):
    assert asks_for_fact(question, "en")


@pytest.mark.parametrize("question", MORE)
def test_more_than_a_fact(question):
    assert not asks_for_fact(question, "en")


def test_german():
    facts = ("Wer hat es geschrieben?", "Und wo liegt das?", "Wie viele sind es?", "Ist das wahr?", "Seit wann?")
    assert all(asks_for_fact(question, "de") for question in facts)
    more = ("Wie funktioniert das?", "Warum?", "Erzähle mir davon.", "Was ist das?", "Womit beginnt es?")
    assert not any(asks_for_fact(question, "de") for question in more)


def test_a_language_whose_words_are_not_known():
    assert not any(asks_for_fact(question, "pl") for question in ("Kto to napisał?", "When?"))


def test_a_long_question_takes_no_time():
    assert not asks_for_fact("and " * 50_000, "en")
    assert not asks_for_fact("what is the " * 20_000, "en")


@pytest.mark.parametrize(
    ("question", "is_one"),
    [
        ("Can I apply?", True), ("Am I eligible", True), ("If I work, do I pay tax?", True), ("What is it?", False),
        ("Can I apply? I live in Rome.", True), ("How much can I earn?", False),
        ("Can you tell me when I get it?", False), ("Could you say whether I can apply?", True),
        ("How much is it, and can I get it?", False), ("I can apply.", False),
    ],
)  # fmt: skip
def test_questions_for_yes_or_no(question, is_one):
    assert is_yes_no_question(question) is is_one
