"""Which texts of a model are taken, and why others are not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convqa.components.history import OpenQuestion, Past
from convqa.components.rewriters._rewrites import asks, first_line, from_json, why_not

FALLBACKS = ("empty", "unfinished", "too long", "no question", "strays", "unreadable")
"""Reasons to reject a model's text, which docs/reference/rewriting.md explains."""

SAID = [Past("Who was Ada Lovelace?", "A mathematician who worked with Charles Babbage in London.")]


def reason(text, question="When was she born?", language="en", said=SAID):
    return why_not(text, OpenQuestion(0, question, said, language))


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("When was Ada Lovelace born?", "When was she born?"),
        ("When was Ada Lovelace born", "when was she born"),
        ("Who was Charles Babbage?", "And Babbage?"),
        ("Tell me more about Charles Babbage.", "Tell me more about him."),
        ("Was Ada Lovelace a mathematician in London, \u201cor not?\u201d", "Was she a mathematician?"),
        ("Who is it?", "Who?"),
        ("What did she do in New York New York?", "What did she do in New York New York?"),
    ],
)
def test_rewrites_are_taken(text, question):
    assert reason(text, question) == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("?! \U0001f44d", "empty"),
        ("When was Ada Lovelace " + " ".join(f"w{n}" for n in range(40)) + " born?", "too long"),
        ("Ada Lovelace was born in London in 1815.", "no question"),
        ("Yes", "no question"),
        ("When was Ada born? Ada Lovelace was born in 1815.", "no question"),
        ("What is the population of Berlin and Paris?", "strays"),
        ("When were Zulu warriors born in Botswana?", "strays"),
    ],
)
def test_what_is_no_rewrite_has_a_reason(text, why):
    assert reason(text) == why
    assert why in FALLBACKS


def test_the_docs_say_when_each_reason_holds():
    page = (Path(__file__).parents[3] / "docs" / "reference" / "rewriting.md").read_text(encoding="utf-8")
    assert [why for why in FALLBACKS if not re.search(rf"^\| {why}\b.* \| \S", page, re.M)] == []


def test_a_question_keeps_one_of_its_words():
    assert reason("Was Ada Lovelace a mathematician?", "Which engines did they design?") == "strays"


def test_statements_may_stay_statements():
    assert reason("I need a book about Ada Lovelace.", "I need a book about her.") == ""


def test_german():
    said = [Past("Wer schrieb Faust?", "Johann Wolfgang von Goethe.")]
    assert reason("Wann wurde Goethe geboren?", "Wann wurde er geboren?", "de", said) == ""
    assert reason("Goethe wurde in Frankfurt geboren.", "Wann wurde er geboren?", "de", said) == "no question"


def test_other_scripts():
    said = [Past("\u8c01\u5199\u4e86\u6d6e\u58eb\u5fb7\uff1f", "\u6b4c\u5fb7")]
    question, text = "\u4ed6\u5728\u54ea\u91cc\u51fa\u751f\uff1f", "\u6b4c\u5fb7\u5728\u54ea\u91cc\u51fa\u751f\uff1f"
    assert reason(text, question, "en", said) == ""
    assert asks("\u0623\u064a\u0646 \u0648\u0644\u062f\u061f", "en")


@pytest.mark.parametrize(
    ("reply", "question"),
    [
        ('{"question": "Who?"}', "Who?"),
        ('\n ```json\n{"question": " Who\\n is it?"}\n```\n', "Who is it?"),
        ('<think>{"question": "no"}</think>\n{"question": "Who?"}', "Who?"),
        ('{"question": ""}', ""),
        ('{"question": "half \\ud800"}', "half \ufffd"),
        ("Who?", "Who?"),
        ('Sure! {"question": "Who?"}', "Who?"),
        ('{"question": "Who?"} Bye.', "Who?"),
        ('{"question": 1}', None),
        ('{"question": "Who?", "answer": "Ada"}', "Who?"),
        ("Well,\nno idea.", None),
        ("", None),
        ("[" * 100_000, None),
    ],
)
def test_replies_are_read_in_every_form(reply, question):
    assert from_json(reply) == question


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Who ?", "Who?"),
        ("\n\n Rewritten question: 'Who is he ?'", "Who is he?"),
        ("What did n't Ada 's friend say , then ?\nAnswer: no", "What didn't Ada's friend say, then?"),
        ('Who said "no" and "yes"', 'Who said "no" and "yes"'),
        ("", ""),
    ],
)
def test_the_first_line_is_what_was_written(text, line):
    assert first_line(text) == line


@settings(deadline=None)
@given(st.text(), st.text(max_size=50))
def test_anything_is_judged(text, question):
    from_json(text)
    assert reason(first_line(text), question) in {"", *FALLBACKS}
