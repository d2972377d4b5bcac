"""Plain text and Markdown as blocks."""

from __future__ import annotations

import gzip
import time
from contextlib import suppress

import pytest

from convqa.documents import Block, Unreadable
from convqa.documents.markdown import read_markdown
from convqa.documents.text import decoded, read_text

pytest.importorskip("mdit_py_plugins")


def markdown(text):
    return list(read_markdown(text.encode()).blocks)


def test_the_lines_of_a_text_show_its_parts():
    text = "Fees\n\nMembers pay\n5 euros.\n\n1. Fill the form\n2. Pay\n- by card\n\n| a | b |\n|--|--|\n"
    assert list(read_text(text.encode()).blocks) == [
        Block("heading", "Fees", 2),
        Block("paragraph", "Members pay\n5 euros."),
        Block("item", "Fill the form", marker="1."),
        Block("item", "Pay", marker="2."),
        Block("item", "by card"),
        Block("header", cells=("a", "b")),
    ]


def test_markdown_has_headings_lists_tables_and_code():
    text = (
        "# Rules {#rules}\n\n3. Pay\n   - by card\n\n| a | b |\n|--|--|\n| 1<br>2 | *x* |\n\n```sh\n# code\n  ls\n```\n"
    )
    assert markdown(text) == [
        Block("heading", "Rules", 1),
        Block("item", "Pay", marker="3."),
        Block("item", "by card"),
        Block("header", cells=("a", "b")),
        Block("row", cells=("1 2", "x")),
        Block("paragraph"),
        Block("code", "# code\n  ls"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mon: 8<br>Tue: 9", ["Mon: 8\nTue: 9"]),
        ("!!! note\n    Mind the step.", ["Note", "Mind the step."]),
        ("> [!TIP]\n> Mind the step.", ["Mind the step."]),
        (":::warning\nMind the step.\n:::", ["Mind the step."]),
        (":::note Mind the step\nIt is wet.\n:::", ["Mind the step It is wet."]),
        ("Fee\n: 5 euros", ["Fee: 5 euros"]),
        ("A fee.[^1]\n\n[^1]: In euros.", ["A fee.[1]", "In euros."]),
        ("<details><summary>When?</summary>At noon.</details>", ["When?", "At noon."]),
    ],
)
def test_what_people_add_to_markdown_is_read(text, expected):
    assert [block.text.replace(" \u21a9\ufe0e", "") for block in markdown(text)] == expected


def test_front_matter_is_meta():
    document = read_markdown(b"---\ntitle: The rules\ndate: 2026-05-01\nteam: [law, tax]\n---\n# One\n")
    assert document.title == "The rules"
    assert document.meta == {"date": "2026-05-01", "team": ["law", "tax"]}
    assert document.blocks == (Block("heading", "One", 1),)


@pytest.mark.parametrize("front", ["a: [", "a: &a [1]\nb: &b [*a,*a,*a]\nc: [" + "*b," * 20_000 + "]", "- a\n- b"])
def test_front_matter_that_is_no_meta_harms_nothing(front):
    assert read_markdown(f"---\n{front}\n---\nThe text.".encode()).blocks[-1].text.endswith("The text.")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_text_is_decoded_with_or_without_a_byte_order_mark(encoding):
    text = "Die Größe der Öffnung wird in Metern gemessen, die Höhe auch.\r\nFür Gäste."
    assert decoded(text.encode(encoding)) == text.replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("It’s open daily.", "cp1252"),
        ("Museet är öppet på söndagar.", "latin-1"),
        ("Zażółć gęślą jaźń, potem płaci się karę.", "cp1250"),
        ("Музей открыт каждый день.", "koi8-r"),
        ("図書館は月曜日に休みます。", "shift_jis"),
        ("Die Küche ist offen.", "utf-16-be"),
    ],
)
def test_the_charset_of_a_short_text_is_told(text, encoding):
    assert decoded(text.encode(encoding)) == text


def test_a_declared_charset_is_read_as_browsers_read_it():
    page = "<meta charset=iso-8859-1><p>It’s €4."
    assert decoded(page.encode("cp1252")) == page


def test_a_damaged_letter_does_not_change_the_charset(caplog):
    data = "Die Küche und die Größe, schön, täglich".encode() + b"\x96 und"
    assert decoded(data) == "Die Küche und die Größe, schön, täglich� und"
    assert "not UTF-8: 1" in caplog.text


def test_a_guessed_charset_is_said_and_binary_data_refused(caplog):
    assert decoded("Größe".encode("cp1252"))
    assert "not UTF-8" in caplog.text
    with pytest.raises(Unreadable, match="binary data"):
        decoded(b"\x89PNG\x00\xff\xfe")
    with pytest.raises(Unreadable, match="binary data"):
        decoded(gzip.compress(b"id,name\n1,english"))


def test_soft_hyphens_ligatures_and_control_characters_are_no_part_of_words():
    assert decoded("The of\ufb01ce is o\u00adpen\x07.".encode()) == "The office is open."


@pytest.mark.parametrize("text", ["\n" * 300_000, " " * 300_000 + "x", "-" * 99_000 + "x", "# " + " " * 99_000 + "x"])
@pytest.mark.parametrize("read", [read_text, read_markdown])
def test_long_lines_and_many_lines_take_linear_time(read, text):
    start = time.process_time()
    with suppress(Unreadable):
        read(text.encode())
    assert time.process_time() - start < 5
