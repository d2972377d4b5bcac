"""Texts cut into passages at paragraphs and sentences."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convqa.documents.blocks import Block
from convqa.documents.cutting import TOKENS, cut
from convqa.documents.layout import LaidOut, laid_out
from convqa.text.units import is_heading, parts

SENTENCE = "The river flows slowly through the old town and its many gardens."
PARAGRAPH = " ".join([SENTENCE] * 6)


def plain(text):
    return LaidOut(text, list(parts(text)))


def passages(text, language="en"):
    return [text[one.start : one.end] for one in cut(plain(text), language)]


def test_a_short_text_is_one_passage_and_nothing_none():
    assert passages(" A text.\n\nAnother.\n") == ["A text.\n\nAnother."]
    assert passages("") == passages(" \n\n ") == []


def test_passages_end_at_paragraphs_and_are_not_small():
    found = passages("\n\n".join([PARAGRAPH] * 10))
    assert len(found) == 5 and set(found) == {f"{PARAGRAPH}\n\n{PARAGRAPH}"}


def test_a_long_paragraph_is_cut_at_sentences_and_every_passage_holds_about_as_many_tokens_as_wanted():
    found = passages(" ".join([SENTENCE] * 100))
    assert all(one.startswith("The river") and one.endswith("gardens.") for one in found)
    assert [len(one.split()) for one in found[:-1]] == [len(found[0].split())] * (len(found) - 1)
    assert TOKENS * 0.8 < len(found[0].split()) + found[0].count(".") <= TOKENS


def test_a_heading_begins_the_passage_of_what_it_heads():
    found = passages(f"{PARAGRAPH}\n\n{PARAGRAPH}\n\n2.1 Maintenance\n\n{PARAGRAPH}\n\nThe last heading")
    assert found[1].startswith("2.1 Maintenance\n\nThe river")
    long = f"{PARAGRAPH} {SENTENCE} {SENTENCE} {SENTENCE}"
    two = passages(f"{long}\n\nPart two\n\nChapter one\n\n{PARAGRAPH}")
    assert two == [long, f"Part two\n\nChapter one\n\n{PARAGRAPH}"]


def test_japanese_is_cut_at_its_sentences():
    found = passages("東京は日本の首都で、多くの人が住んでいます。" * 40, "ja")
    assert len(found) > 2 and all(one.endswith("。") and one.startswith("東京") for one in found)


def test_words_without_end_make_no_passage_without_end():
    assert max(map(len, passages("x" * 100_000))) <= TOKENS * 10


@pytest.mark.parametrize("text", ["- an item", "| a | b |", "It ends.", "Two\nlines", "x " * 60, "12", "And so on:"])
def test_what_is_no_heading(text):
    assert not is_heading(text)


def test_a_long_table_is_cut_between_rows_that_keep_their_header():
    rows = [Block("row", cells=(f"Lathe part {number}", f"{number} euros")) for number in range(60)]
    document = laid_out([Block("heading", "Parts"), Block("header", cells=("Part", "Price")), *rows])
    first, *others = cut(document, "en")
    assert len(others) > 1
    assert document.text[first.start : first.end].startswith("Parts\n\n| Part | Price |\n| Lathe part 0 |")
    for one in others:
        text = document.text[one.start : one.end]
        assert text.startswith("| Lathe part") and text.endswith(" |")
        assert {(unit.kind, unit.heading, unit.context) for unit in one.units} == {("row", "Parts", "| Part | Price |")}
        assert [text[unit.start : unit.end] for unit in one.units] == text.split("\n")


def test_a_page_begins_a_passage():
    document = laid_out([Block("paragraph", PARAGRAPH, page=1), Block("paragraph", "The second page.", page=2)])
    assert [one.page for one in cut(document, "en")] == [1, 2]


@settings(deadline=None, max_examples=50)
@given(st.text(st.sampled_from("aB .\n#|-1é東。?:"), max_size=800))
def test_passages_are_in_order_apart_and_trimmed_and_no_word_is_lost(text):
    document = plain(text)
    found = cut(document, "en")
    assert all(one.start < one.end for one in found)
    assert all(first.end <= second.start for first, second in pairwise(found))
    for one in found:
        passage = text[one.start : one.end]
        assert all(0 <= unit.start < unit.end <= len(passage) for unit in one.units)
        assert all(first.end <= second.start for first, second in pairwise(one.units))
    inside = "".join(text[one.start : one.end] for one in found)
    kept = "".join(text[part.start : part.end] for part in document.parts)
    assert sum(map(str.isalpha, inside)) == sum(map(str.isalpha, kept))
