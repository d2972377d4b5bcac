"""What of a sentence is quoted, and how a quote is shown."""

from __future__ import annotations

import random

import pytest

from convqa.text.quotes import judged, quotable, shown
from convqa.text.sentences import sentences

PROSE = "Ada Lovelace wrote the first notes on the engine in 1843."


def quoted(text, language="en"):
    places = [quotable(text, *place, language) for place in sentences(text, language)]
    return [text[slice(*place)] for place in places if place]


@pytest.mark.parametrize(
    "clean",
    [
        PROSE,
        "In 1975 two new microprocessors were developed that were easier to make than the 8080.",
        "Who wrote the notes?",
        "Gerry, Billy J. Kramer and the Dakotas, Cilla Black and The Big Three were from Liverpool.",
        "2012 saw another large expansion of the chain.",
        "Series A rounds are a critical stage in the funding of new companies.",
        "Goethe wrote Faust.",
        "Ada passed away when she was very ill in 1852.",
        "The Board of Directors of the Analytical Society met in Turin in the spring of 1842.",
        "The art of ancient Greece , known for its vases , has had a great influence on other cultures .",
    ],
)
def test_what_says_something_is_quoted_as_it_is(clean):
    assert quoted(clean) == [clean]


@pytest.mark.parametrize(
    "junk",
    [
        "View Cart Login / Register Privacy Policy for Engines For Sale",
        "Home Services Poets Goethe Schiller Faust Tickets Contact Jobs Shop Login Imprint.",
        "Skip to Main Content",
        "Copyright © 2024 All Rights Reserved Terms of Use Privacy Policy",
        "It protects an area of no more than ; this is enough for a small country.",
        "The seats are cushioned, and tea is called , as it is elsewhere.",
        "innovates for the benefit of all, and inspires the world through its discoveries.",
        "Opening hours and directions",
        "Pros and Cons of Steam Engines.",
        "By Ada King | March 3, 2015",
        "The price of the engine was high.he state paid for a part of it.",
        "e state paid for a part of it.",
    ],
)
def test_junk_is_not_quoted(junk):
    assert quoted(junk) == []


def test_a_heading_is_cut_off_where_its_sentence_surely_begins():
    page = "Home Menu Contact Us Nurse Practitioner (NP) A nurse practitioner is a nurse who may treat people."
    assert quoted(page) == ["A nurse practitioner is a nurse who may treat people."]


@pytest.mark.parametrize("heading", ["About Us", "How Steam Engines Work", "Next Steps"])
def test_a_heading_without_a_page_around_it_is_cut_off(heading):
    assert quoted(f"{heading} {PROSE}") == [PROSE]


def test_no_name_is_cut_off_within_a_line_of_a_passage_that_has_several():
    for clean in (
        "The Marlow Bicycle Works was founded in 1923 by Edith Marlow in Coventry.",
        "IBM Blockchain Platform is a distribution of Hyperledger Fabric for firms that trade with each other.",
    ):
        for page in (f"History\n\n{clean}", f"{clean}\n\n{PROSE}", f"{PROSE}\n- {clean}", f"Title\n{PROSE} {clean}"):
            assert clean in quoted(page)
    assert quoted(f"{PROSE}\n\nGet to know herNext Steps{PROSE}")[-1] == PROSE


def test_in_doubt_no_name_is_cut_off():
    clean = "The Marlow Bicycle Works was founded in 1923 by Edith Marlow in Coventry."
    assert quoted(clean) == [clean]


def test_a_sentence_is_judged_more_severely_among_others_that_are_junk():
    doubtful = "Notes on the engine, with a table of the numbers of Bernoulli, are in the library of Turin."
    menu = "Home Menu Contact Us Shop. View Cart Login. Read More Share Tweet. Terms of Use Privacy Policy. "
    alone, among = judged(doubtful, 0, len(doubtful))[1], judged(menu + doubtful, len(menu), len(menu + doubtful))[1]
    assert among < alone


def test_headings_on_lines_of_their_own_do_not_make_a_passage_worse():
    canteen = "The canteen moves to building B in October. Its new cook is Ana Costa."
    handbook = f"Holiday\n\nEmployees have 28 days of holiday a year.\n\nCanteen\n\n{canteen}"
    assert "Its new cook is Ana Costa." in quoted(handbook)


def test_bullets_numbers_and_footnote_marks_around_a_sentence_are_no_part_of_it():
    for lead in ("* ", "*", "1. ", "\u2022 ", "[76] ", "- "):
        assert quoted(lead + PROSE) == [PROSE]
    assert quoted(PROSE + "[4][5]") == [PROSE]
    assert quotable(PROSE + " 2.", 0, len(PROSE) + 3, "en") == (0, len(PROSE))


def test_a_sentence_that_was_cut_at_an_abbreviation_is_quoted_whole():
    text = "It was a subsidiary of Systems Union Group plc. until August 2006, when it was sold."
    assert set(quoted(text)) == {text}


def test_a_long_sentence_is_quoted_whole_or_not_at_all():
    text = f"They bought {', '.join(f'a large engine of the {number}th kind' for number in range(16))} and a house."
    assert 400 < len(text) <= 700 and set(quoted(text)) == {text}
    assert not any(quote.endswith(",") for quote in quoted("They bought " + "a large old engine of steel, " * 60))


def test_other_languages_are_not_judged():
    for language, text in (
        ("de", "Impressum Kontakt Warenkorb"),
        ("zh", "她生于伦敦"),
        ("en", "她生于伦敦。她写了笔记。"),
    ):
        assert quoted(text, language) == [text[slice(*place)] for place in sentences(text, language)]
    assert quoted("* Ada schrieb Noten.[3]", "de") == ["Ada schrieb Noten."]


def test_what_is_shown():
    assert (
        shown("Haiti (; French: Haïti) is [a country](https://a.org/b) ( ).[12]")
        == "Haiti (French: Haïti) is a country."
    )
    assert shown("A reunion (, or ; ) is held &amp; told [citation needed].") == "A reunion is held & told."
    assert shown("x[0] and a [sic] remain") == "x and a [sic] remain"
    assert shown(" [1] ") == "[1]"


def test_quotes_lie_in_their_text_whatever_it_is():
    signs = [
        "Menu",
        "Ada",
        "the",
        "is",
        "\n",
        "[1]",
        "* ",
        "(",
        ")",
        ". ",
        "\ud800",
        "é",
        "1.",
        "https://a.b",
        " ",
        "|",
        "?",
    ]
    chance = random.Random(3)
    for _ in range(300):
        text = " ".join(chance.choices(signs, k=chance.randint(1, 40)))
        for start, end in sentences(text):
            place = quotable(text, start, end, "en")
            assert place is None or (0 <= place[0] < place[1] <= len(text) and text[slice(*place)].strip())
            assert shown(text[start:end])
