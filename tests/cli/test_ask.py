"""``convqa ask``: a cited answer, an explicit no-answer, and errors."""

from __future__ import annotations

import re

from convqa.cli.ask import lines
from convqa.domain import Answer, Citation, Hit, Passage, Ranking, Response, Sentence, TurnId


def test_an_answer_with_numbered_citations(call, indexed):
    code, out, err = call("ask", "What is a physician's assistant?", "--collection", indexed)
    assert (code, err) == (0, "")
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


def test_every_place_has_a_number_and_nothing_acts_on_the_terminal():
    text = "Faust is by Goethe.\r\nIt has two parts."
    passage = Passage("a b", text, "Faust\x1b[31m", "http://x")
    sentences = [
        Sentence("Goethe, as [1] says.", (Citation("a b", 0, 19),)),
        Sentence("\x1b[2JTwo parts.", (Citation("a b", 21, 38), Citation("a b", 0, 19), Citation("c"))),
    ]
    ranking = Ranking((Hit("a b", 2.0, passage), Hit("c", 1.0)))
    shown = lines(Response(TurnId(1, 1), ranking=ranking, answer=Answer.of(sentences, "en")))
    assert shown == [
        r"Goethe, as \[1] says. [1] \u001b[2JTwo parts. [2][1][3]",
        "",
        r"[1] Faust\u001b[31m",
        "    url: http://x",
        "    id: a b",
        "    »Faust is by Goethe.« It has two parts.",
        r"[2] Faust\u001b[31m",
        "    url: http://x",
        "    id: a b",
        "    Faust is by Goethe. »It has two parts.«",
        "[3]",
        "    id: c",
    ]


def test_without_an_answer_the_nearest_passages_are_named():
    ranking = Ranking(tuple(Hit(f"p{n}", -n) for n in range(5)))
    said = lines(Response(TurnId(1, 1), ranking=ranking))
    assert said == ["No answer: this pipeline has no builder.", *(f"    nearest: p{n}" for n in range(3))]
    answer = Answer("none", "", reason="nothing was found", nearest=("p4",))
    assert lines(Response(TurnId(1, 1), answer=answer)) == ["No answer: nothing was found.", "    nearest: p4"]
    assert lines(Response(TurnId(1, 1), answer=Answer("question", "Which Faust?")))[0] == "Which Faust?"
