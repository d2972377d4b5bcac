"""What can be quoted in a text."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from convqa.text.units import Part, units_of_parts, units_of_text


def found(text):
    return [(unit.kind, text[unit.start : unit.end]) for unit in units_of_text(text, "en")]


def test_sentences_items_steps_and_rows_are_units_and_headings_are_above_them():
    text = (
        "# Kiln\n\nIt is old. It works.\n\nTo fire it:\n1. Close the door.\n2. Turn the switch. Wait.\n\n"
        "## Fees\n\n| Who | Fee |\n|-----|-----|\n| Members | 5 |\n"
    )
    assert found(text) == [
        ("heading", "Kiln"),
        ("sentence", "It is old."),
        ("sentence", "It works."),
        ("sentence", "To fire it:"),
        ("step", "1. Close the door."),
        ("step", "2. Turn the switch. Wait."),
        ("heading", "Fees"),
        ("header", "| Who | Fee |"),
        ("row", "| Members | 5 |"),
    ]
    units = units_of_text(text, "en")
    assert [(unit.heading, unit.context) for unit in units[4:]] == [
        ("Kiln", "To fire it:"),
        ("Kiln", "To fire it:"),
        ("Kiln", ""),
        ("Kiln > Fees", ""),
        ("Kiln > Fees", "| Who | Fee |"),
    ]
    assert [unit.is_quotable for unit in units] == [False, True, True, True, True, True, False, False, True]


@pytest.mark.parametrize(
    "text",
    [
        "When is it open?\n\nFrom nine to five.",
        "Q: When is it open?\nA: From nine to five.",
        "## When is it open?\nFrom nine to five. On Mondays only.",
        "Opening\n\nWhen is it open?\n\n- from nine to five\n- on Mondays only",
    ],
)
def test_a_question_that_stands_alone_is_one_unit_with_its_reply(text):
    kind, quoted = found(text)[-1]
    assert kind == "question" and "When is it open?" in quoted and "five" in quoted


def test_a_long_reply_has_units_of_its_own_below_the_question():
    reply = " ".join(f"The hall number {number} opens at nine." for number in range(20))
    units = units_of_text(f"# When is it open?\n\n{reply}\n\n# And now?\n\nNo.", "en")
    assert [unit.kind for unit in units] == ["heading", *["sentence"] * 20, "question"]
    assert {unit.context for unit in units[1:21]} == {"When is it open?"}


def test_a_question_within_a_paragraph_is_a_sentence():
    assert [kind for kind, _ in found("Is it old? It is from 1903.")] == ["sentence", "sentence"]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("E03 is displayed.\u2003Send the machine in. Do not open it.", "E03 is displayed.\u2003Send the machine in."),
        ("Stop now! Do not open it.\u2003It is hot. Wait.", "Stop now! Do not open it.\u2003It is hot."),
        ("It is open.\u2003\nFrom nine. To ten.", "It is open.\u2003\nFrom nine."),
        ("Is it open?\n  Only today. From nine. To ten.", "Is it open?\n  Only today. From nine. To ten."),
        ("Cash only. No cards. No cheques.", "Cash only. No cards."),
        ("Yes. No. Perhaps so.", "Yes. No."),
        ("He left us. We wept.", "He left us."),
    ],
)
def test_a_heading_that_begins_a_paragraph_is_quoted_with_the_sentence_after_it(text, first):
    assert found(text)[0][1] == first


def test_a_numbered_heading_is_a_heading_and_a_clause_keeps_its_number():
    assert found("8. Ending the tenancy\n\n8.1 Either side may end it.\n8.2 In writing only.") == [
        ("heading", "8. Ending the tenancy"),
        ("step", "8.1 Either side may end it."),
        ("step", "8.2 In writing only."),
    ]


@given(st.text(st.sampled_from("aB .\n#|-1é東。?:\t`"), max_size=300))
def test_units_are_in_order_and_apart_and_never_empty(text):
    units = units_of_text(text, "en")
    assert all(0 <= unit.start < unit.end <= len(text) and text[unit.start : unit.end].strip() for unit in units)
    assert all(first.end <= second.start for first, second in pairwise(units))


def test_what_is_repeated_with_each_unit_stays_short():
    """Long headings and long tables of header rows would take memory in proportion to their square."""
    long = "Word " * 1000
    below = units_of_text(f"# {long}\n\n## Fees\n\nIt is free.", "en")[-1]
    assert below.heading == "Fees"
    text = "| Name | Price |\n" * 1000
    parts = [Part(start, start + 16, "header") for start in range(0, len(text), 17)]
    assert max(len(unit.context) for unit in units_of_parts(text, parts, "en")) < 3000
