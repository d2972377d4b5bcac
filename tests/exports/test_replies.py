"""Turns as JSON replies: a quoted row of a table has its cells."""

from __future__ import annotations

from dataclasses import replace

from convqa.domain import Answer, Citation, Hit, Passage, Ranking, Response, Rewrite, Sentence, TurnId, Unit
from convqa.exports import CitedAnswer, replies
from convqa.server.chat_text import pieces
from convqa.text.quotes import TableRow

TEXT = "| | Weekday | Weekend |\n| Children | €3.50 | €4.50 |\n\nCash only."
UNITS = (Unit(0, 23, "header", "Entry fees"), Unit(24, 52, "row", "Entry fees", TEXT[:23]), Unit(54, 64))


def sentences(*given, units=UNITS, text=TEXT):
    answer = Answer.of([Sentence(said, (Citation("museum", *span),)) for said, span in given], "en")
    ranking = Ranking((Hit("museum", 1.0, Passage("museum", text, "Visit", units=units)),))
    response = Response(TurnId(1, 1), Rewrite.unchanged("How much?"), ranking, answer=answer)
    return replies.turn(response, "How much?", "talk").answer.sentences


def test_a_quoted_row_has_its_cells_and_those_of_its_header_row():
    quoted = "Entry fees, Children: Weekday €3.50, Weekend €4.50"
    row, other = sentences((quoted, (24, 52)), ("Cash only.", (54, 64)))
    assert row.row == TableRow("Entry fees", ["", "Weekday", "Weekend"], ["Children", "€3.50", "€4.50"])
    assert other.row is None


def test_a_row_of_a_text_without_units_is_found_in_it():
    (row,) = sentences(("Kiln: Room 14", (0, 18)), units=(), text="| Kiln | Room 14 |")
    assert row.row == TableRow("", [], ["Kiln", "Room 14"])


def test_quoted_items_and_rows_have_lines_of_their_own():
    text = "Bring:\n- A towel\n- A hat\n\nNo dogs."
    bring = Passage("bring", text)
    quoted = [
        Sentence("Bring: A towel", (Citation("bring", 9, 16),)),
        Sentence("No dogs.", (Citation("bring", 26, 34),)),
    ]
    response = Response(TurnId(1, 1), ranking=Ranking((Hit("bring", 1.0, bring),)), answer=Answer.of(quoted, "en"))
    assert [sentence.item for sentence in replies.turn(response, "What?", "talk").answer.sentences] == [True, False]
    assert [sentence.text for sentence in CitedAnswer.of(response).listed()] == ["- Bring: A towel", "- No dogs."]
    behind = CitedAnswer(response, Answer.of(quoted[::-1], "en"))
    assert [sentence.text for sentence in behind.listed()] == ["No dogs.", "- Bring: A towel"]
    unsure = replace(response, answer=replace(response.answer, notes=("not sure",)))
    assert "".join(pieces(unsure, "en")).startswith("Not sure:\n- Bring: A towel [1]\n- No dogs. [2]\n")
    alone = CitedAnswer(response, Answer.of(quoted[:1], "en"))
    assert alone.listed() == tuple(quoted[:1])
    said = [replace(sentence, supported=True) for sentence in quoted]
    assert CitedAnswer(response, Answer.of(said, "en")).listed() == tuple(said)


def test_the_introduction_of_a_list_has_a_line_of_its_own():
    text = "It is cold.\n\nBring:\n- A towel\n- A hat\n\nFirst:\n1. Knock\n2. Wait"
    passage = Passage("bring", text)
    quoted = [
        Sentence("It is cold.", (Citation("bring", 0, 11),)),
        Sentence("Bring: A towel", (Citation("bring", 22, 29),)),
        Sentence("A hat", (Citation("bring", 32, 37),)),
        Sentence("First: 1. Knock", (Citation("bring", 46, 54),)),
        Sentence("2. Wait", (Citation("bring", 55, 62),)),
    ]
    response = Response(TurnId(1, 1), ranking=Ranking((Hit("bring", 1.0, passage),)), answer=Answer.of(quoted, "en"))
    lines = ["It is cold. [1]", "Bring:", "- A towel [2]", "- A hat [3]", "First:", "1. Knock [4]", "2. Wait [5]"]
    assert "".join(pieces(response, "en")).partition("\n\n")[0].splitlines() == lines
    answer = replies.turn(response, "What?", "talk").answer
    shown = [(sentence.text, sentence.item, sentence.citations) for sentence in answer.sentences]
    assert shown == [
        ("It is cold.", False, [1]),
        ("Bring:", False, []),
        ("A towel", True, [2]),
        ("A hat", True, [3]),
        ("First:", False, []),
        ("1. Knock", True, [4]),
        ("2. Wait", True, [5]),
    ]
    assert [answer.text[sentence.start : sentence.end] for sentence in answer.sentences] == [text for text, *_ in shown]


def test_what_a_language_model_says_about_a_row_is_shown_as_written():
    (said,) = sentences(("Children pay €3.50 on weekdays.", (24, 52)))
    assert said.row is None
