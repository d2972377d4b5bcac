"""``convqa ask``: a cited answer, an explicit no-answer, and errors."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import orjson

from convqa.cli.ask import lines, show
from convqa.domain import TOLD, UNSURE, Answer, Citation, Hit, Passage, Ranking, Response, Rewrite, Sentence, TurnId


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


def test_a_filter_narrows_what_is_searched(call, tmp_path):
    passages = tmp_path / "passages.jsonl"
    rows = [{"id": name, "text": f"Faust was written by {name}.", "meta": {"set": kind, "year": 1}}
            for name, kind in (("Goethe", "plays"), ("Marlowe", "lies"))]  # fmt: skip
    passages.write_bytes(b"\n".join(map(orjson.dumps, rows)))
    asked = ("ask", "Who wrote Faust?", "--collection", passages, "--filter")
    assert "Goethe" in (out := call(*asked, "set=plays", "--filter", "year=1")[1]) and "Marlowe" not in out
    assert call(*asked, "year=2")[1].startswith("No answer: ")
    code, _, err = call(*asked, "set=")
    assert code == 2 and "filter: set: found None; wanted a text, a number, true or false." in err


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
    found = lines(Response(TurnId(1, 1), ranking=ranking, answer=Answer.of(sentences, "en")))
    assert found == [
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
    passages = (
        Passage("p0", "Faust is a play.\nIt has two parts, and " + "is long " * 20, "Faust"),
        Passage("p1", "No title."),
    )
    ranking = Ranking(tuple(Hit(passage.id, 1.0, passage) for passage in passages))
    refused = Answer("none", "", reason="they do not answer", nearest=("p0", "p1"))
    assert lines(Response(TurnId(1, 1), ranking=ranking, answer=refused)) == [
        "No answer: they do not answer.",
        "    nearest: Faust: Faust is a play. It has two parts, and is long is long ...",
        "    nearest: No title.",
    ]
    assert lines(Response(TurnId(1, 1), answer=Answer("question", "Which Faust?")))[0] == "Asked back: Which Faust?"


GOETHE = Passage("g", "Goethe wrote Faust. He lived in Weimar.", "Goethe")
SAID = (
    Sentence("Goethe wrote Faust.", (Citation("g", 0, 19),)),
    Sentence("He lived in Weimar.", (Citation("g", 20, 39),)),
)


def shown(*notes, brief=False, rewrite=None, added=(), said=SAID):
    answer = replace(Answer.of(said, "en", 0.4), notes=notes)
    return lines(Response(TurnId(1, 1), rewrite, Ranking((Hit("g", 1.0, GOETHE),)), None, answer, added=added), brief)


def test_what_was_understood_is_shown_with_the_added_words_in_brackets():
    rewrite = Rewrite.unchanged("Where did Goethe live after Faust?")
    assert shown(rewrite=rewrite, added=((10, 16), (22, 33)))[:2] == [
        "Understood as: Where did [Goethe] live [after Faust]?",
        "",
    ]
    assert shown(rewrite=rewrite)[0].startswith("Goethe wrote")


def test_doubt_and_repetition_are_said_in_words():
    assert shown()[0] == "Goethe wrote Faust. [1] He lived in Weimar. [2]"
    assert shown(UNSURE)[0].startswith("Not sure: Goethe")
    assert shown(TOLD)[0].startswith("As said before: Goethe")
    assert shown(TOLD, UNSURE)[0].startswith("Not sure: As said before: Goethe")


def test_in_brief_a_passage_is_named_once_and_shown_only_where_the_answer_is_not_its_text():
    assert shown(brief=True)[1:] == ["", "[1][2] Goethe", "    id: g"]
    other = (Sentence("Do you mean Faust?", (Citation("g", 0, 19),)),)
    assert shown(brief=True, said=other)[1:] == [
        "",
        "[1] Goethe",
        "    id: g",
        "    »Goethe wrote Faust.« He lived in Weimar.",
    ]


def test_lines_are_broken_between_words_on_a_terminal_only(monkeypatch, capsys):
    line = "    " + "word " * 30 + "end"
    show([line, ""])
    assert capsys.readouterr().out == f"{line}\n\n"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    show([line, ""])
    broken = capsys.readouterr().out.splitlines()
    assert max(map(len, broken)) <= 40 and all(part.startswith("    word") for part in broken[:-2])


def test_json_is_the_whole_response(call, indexed):
    code, out, _ = call("ask", "What is a physician's assistant?", "--collection", indexed, "--json")
    response = Response.from_json(orjson.loads(out))
    assert code == 0 and response.answer.score is not None and response.ranking.hits[0].passage.text


def test_steps_stand_on_lines_of_their_own(capsys, monkeypatch):
    text = "Open the lid. Rinse the case well. Press start."
    passage = Passage("p", text)
    places = [(0, 13), (14, 34), (35, 47)]
    marks = ["1. ", "2. ", ""]
    said = [Sentence(mark + text[start:end], (Citation("p", start, end),))
            for mark, (start, end) in zip(marks, places, strict=True)]  # fmt: skip
    ranking = Ranking((Hit("p", 2.0, passage),))
    found = lines(Response(TurnId(1, 1), ranking=ranking, answer=Answer.of(said, "en")))
    assert found[:3] == ["1. Open the lid. [1]", "2. Rinse the case well. [2] Press start. [3]", ""]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("convqa.cli.ask.get_terminal_size", lambda: SimpleNamespace(columns=24))
    show(found[:2])
    assert capsys.readouterr().out.splitlines() == [
        "1. Open the lid. [1]", "2. Rinse the case well.", "   [2] Press start. [3]"
    ]  # fmt: skip
