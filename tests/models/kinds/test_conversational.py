"""Question and history as one text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from convqa.models.kinds.encoder import MOST_PIECES, SEPARATOR, _pieces, conversational


def test_the_latest_comes_first_and_the_first_question_last_but_for_its_answer():
    history = [("Who is A?", "One."), ("And B?", "Two."), ("And C?", "")]
    assert conversational("Why?", history).split(SEPARATOR) == ["Why?", "And C?", "And B?", "Two.", "Who is A?", "One."]


def test_the_first_question_keeps_its_place_and_the_middle_is_left_out():
    history = [("Who is Ada?", "A."), *((f"Question {number} about her?", "word " * 40) for number in range(10_000))]
    made = conversational("Why?", history)
    parts = made.split(SEPARATOR)
    assert parts[0] == "Why?" and parts[1] == "Question 9999 about her?" and "Who is Ada?" in parts
    assert _pieces(made.replace("[SEP]", "|")) <= MOST_PIECES


def test_nothing_said_takes_no_place():
    assert conversational("Why?", []) == "Why?"
    assert conversational("Why?", [("", "")]) == "Why?"
    assert conversational("Why?", [("Who?", " \n"), ("", "So.")]) == "Why? [SEP] So. [SEP] Who?"


utterances = st.text(max_size=300)


@given(utterances, st.lists(st.tuples(utterances, utterances), max_size=6))
def test_any_text_fits(question, history):
    made = conversational(question, history)
    assert "\n" not in made
    # Each separator is counted as one piece.
    assert _pieces(made.replace("[SEP]", "|")) <= MOST_PIECES


def test_scripts_without_blanks_are_cut_by_their_signs():
    assert len(conversational("\u6b4c" * 500, [])) == 64
