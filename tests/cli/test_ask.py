"""``convqa ask``: a cited answer, an explicit no-answer, and errors."""

from __future__ import annotations

import re


def test_an_answer_with_numbered_citations(call, indexed):
    code, out, err = call("ask", "What is a physician's assistant?", "--collection", indexed)
    assert code == 0 and "has no vectors" in err
    answer, _, sources = out.partition("\n\n")
    numbers = set(re.findall(r"\[(\d+)\]", answer))
    assert numbers and numbers == set(re.findall(r"^\[(\d+)\]", sources, re.M))
    assert "assistant" in answer.lower()
    quoted = re.findall("»(.*?)«", sources)
    assert quoted and all(quote in answer for quote in quoted)


def test_no_answer_is_said(call, indexed):
    code, out, _ = call("ask", "zzqx wvvk", "--collection", indexed)
    assert code == 0 and out.startswith("No answer: ")


def test_a_wild_question_does_not_break_it(call, indexed):
    for question in ("", "\x00", "é" * 100_000, "🙂 עברית \r\n"):
        assert call("ask", question, "--collection", indexed)[0] == 0


def test_ask_needs_a_collection(call):
    code, _, err = call("ask", "Who wrote Faust?")
    assert code == 2 and "--collection" in err
