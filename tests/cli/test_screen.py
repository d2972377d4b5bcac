"""How turns are shown: their words, the marks where there are no styles, the width of a terminal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from convqa.cli.screen import Screen, response_lines, source_lines
from convqa.domain import (
    TOLD,
    UNSURE,
    Answer,
    Citation,
    Hit,
    Passage,
    Ranking,
    Reading,
    Response,
    Rewrite,
    Sentence,
    Span,
    TurnId,
    Unit,
)


@pytest.fixture
def terminal(monkeypatch):
    """``terminal(columns)`` makes standard output a terminal of that width."""
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")

    def made(columns):
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        monkeypatch.setenv("COLUMNS", str(columns))
        return Screen()

    return made


def lines(response, brief=False, screen=None):
    return [line.plain for line in response_lines(response, screen or Screen(), brief)]


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
        r"[1][2] Faust\u001b[31m",
        "    url: http://x",
        "    id: a b",
        "    [1] »Faust is by Goethe.«",
        "    [2] »It has two parts.«",
        "[3] c",
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
        Passage("p2", "A play.", "Faust"),
    )
    ranking = Ranking(tuple(Hit(passage.id, 1.0, passage) for passage in passages))
    refused = Answer("none", "", reason="they do not answer", nearest=("p0", "p1", "p2"))
    assert lines(Response(TurnId(1, 1), ranking=ranking, answer=refused)) == [
        "No answer: they do not answer.",
        f'    nearest: "Faust is a play. It has two parts, and {"is long " * 12}..."',
        "        Faust",
        '    nearest: "No title."',
        "        p1",
        '    nearest: "A play."',
        "        Faust",
    ]
    quote = Sentence("It has two parts.", (Citation("p0", 17, 34),))
    reading = Reading((Span("p0", 17, 34, quote.text, 2.0), Span("p2", 2, 7, "play.", 1.0)), 0.0)
    response = Response(TurnId(1, 1), ranking=ranking, reading=reading, answer=replace(refused, withheld=quote))
    assert lines(response) == [
        "No answer: they do not answer.",
        '    closest: "It has two parts."',
        "        Faust",
        '    nearest: "No title."',
        "        p1",
        '    nearest: "play."',
        "        Faust",
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


ADDED = {"rewrite": Rewrite.unchanged("Where did Goethe live after Faust?"), "added": ((10, 16), (22, 33))}


def test_styles_take_the_place_of_marks_on_a_terminal_but_not_with_no_color(terminal, monkeypatch, capsys):
    response = Response(TurnId(1, 1), **ADDED, answer=Answer("question", "Which Faust?"))

    def printed():
        screen = terminal(60)
        screen.show(response_lines(response, screen)[:1])
        return capsys.readouterr().out

    assert "[Goethe]" not in printed() and "\x1b[4;36mGoethe\x1b[0m" in printed()
    monkeypatch.setenv("NO_COLOR", "1")
    assert printed() == "Understood as: Where did [Goethe] live [after Faust]?\n"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert printed() == "Understood as: Where did [Goethe] live [after Faust]?\n"


def test_what_acts_on_a_terminal_does_not_get_there(terminal, capsys):
    screen, evil = terminal(80), "\x1b[2J\x9b\u202fa\r\b"
    passage = Passage(evil, f"Goethe {evil} wrote.", evil, evil)
    answer = Answer.of([Sentence(evil, (Citation(evil, 0, 6),))], "en")
    rewrite, ranking = Rewrite.unchanged(evil), Ranking((Hit(evil, 1.0, passage),))
    made = Response(TurnId(1, 1), rewrite, ranking, None, answer, added=((0, 2),))
    refused = replace(made, answer=Answer("none", "", reason=evil, nearest=(evil,)))
    for response, brief in ((made, False), (made, True), (refused, True)):
        screen.show(response_lines(response, screen, brief))
    shown = capsys.readouterr().out
    assert "\x1b[2J" not in shown and not set("\x9b\r\b") & set(shown) and r"\u001b[2J" in shown


def test_in_brief_the_sources_are_titles():
    assert shown(brief=True)[1:] == ["", "[1][2] Goethe"]
    assert shown(brief=True, said=[Sentence("It is so.")]) == ["It is so."]


def sourced(*passages):
    said = [Sentence(f"This is {n}.", (Citation(passage.id, 0, 4),)) for n, passage in enumerate(passages)]
    ranking = Ranking(tuple(Hit(passage.id, 1.0, passage) for passage in passages))
    return Response(TurnId(1, 1), None, ranking, None, Answer.of(said, "en"))


def test_a_source_without_a_title_is_named_by_its_address():
    passages = (
        Passage("http://web.archive.org/web/2019id_/https://www.example.org/Faust_p3", "text"),
        Passage("p", "text", url="https://example.org/Weimar"),
        Passage("doc 7", "text"),
    )
    expected = ["[1] example.org/Faust_p3", "[2] example.org/Weimar", "[3] doc 7"]
    assert lines(sourced(*passages), True)[-3:] == expected


def test_a_place_is_marked_in_its_surroundings():
    text = "Before. " * 50 + "Goethe wrote\nFaust." + " Behind." * 50
    response = sourced(Passage("p", text), Passage("q", "Other."))
    response = replace(response, answer=Answer.of([Sentence("Goethe did.", (Citation("p", 400, 419),))], "en"))
    *_, last = source_lines(response, Screen())
    assert last.plain.startswith("    ...") and len(last.plain) < 200
    assert "Before. »Goethe wrote Faust.« Behind." in last.plain


def test_a_cited_row_is_shown_by_its_cells():
    text = "| | Weekday |\n| Children | €3.50 |"
    units = (Unit(0, 13, "header", "Fees"), Unit(14, 34, "row", "Fees", text[:13]))
    passage = Passage("p", text, "Visit", meta={"file": "museum/fees.md"}, units=units)
    said = [Sentence("Children pay €3.50.", (Citation("p", 14, 34),))]
    response = replace(sourced(passage), answer=Answer.of(said, "en"))
    assert [line.plain for line in source_lines(response, Screen())] == [
        "[1] Visit, Fees (museum/fees.md)",
        "    id: p",
        "    »Fees, Children: Weekday €3.50«",
    ]


def test_lines_are_whole_where_no_terminal_is(capsys):
    Screen().show(["    " + "word " * 30 + "end", ""])
    assert capsys.readouterr().out == "    " + "word " * 30 + "end\n\n"


def test_steps_stand_on_lines_of_their_own(capsys, terminal):
    text = "Open the lid. Rinse the case well. Press start."
    passage = Passage("p", text)
    places = [(0, 13), (14, 34), (35, 47)]
    marks = ["1. ", "2. ", ""]
    said = [Sentence(mark + text[start:end], (Citation("p", start, end),))
            for mark, (start, end) in zip(marks, places, strict=True)]  # fmt: skip
    ranking = Ranking((Hit("p", 2.0, passage),))
    answer = Answer.of(said, "en")
    doubted = replace(answer, notes=(UNSURE,))
    assert lines(Response(TurnId(1, 1), ranking=ranking, answer=doubted))[:2] == ["Not sure:", "1. Open the lid. [1]"]
    found = lines(Response(TurnId(1, 1), ranking=ranking, answer=answer), screen=Screen())
    assert found[:3] == ["1. Open the lid. [1]", "2. Rinse the case well. [2] Press start. [3]", ""]
    terminal(24).show(found[:2])
    assert capsys.readouterr().out.splitlines() == [
        "1. Open the lid. [1]", "2. Rinse the case well.", "   [2] Press start. [3]"
    ]  # fmt: skip
