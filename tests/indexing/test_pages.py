"""The lines of a PDF's pages as one text of paragraphs."""

from __future__ import annotations

from convqa.indexing.pages import joined

LONG = "This line is about as wide as the column in which it stands"


def text(*pages):
    return joined(["\n".join(page) for page in pages])[0]


def test_lines_are_joined_to_paragraphs():
    assert text(
        [LONG, "and it goes on here.", "The next paragraph begins in a line that is as wide", "as it gets."]
    ) == (f"{LONG} and it goes on here.\n\nThe next paragraph begins in a line that is as wide as it gets.")
    # A name at the beginning of a line begins no paragraph.
    assert (
        text([LONG.replace("stands", "has"), "Rome as its last word, which is a city in Italy, as all know."]).count(
            "\n"
        )
        == 0
    )


def test_headings_and_items_stand_apart():
    tool = "asn1 is a tool that is as wide as all of the others, and"
    found = text([f"{LONG}.", "2 Maintenance", LONG, "and on.", "• one", "• two", "2.1 Cleaning", tool, LONG])
    assert found.split("\n\n") == [
        f"{LONG}.", "2 Maintenance", f"{LONG} and on.", "• one\n• two\n2.1 Cleaning", f"{tool} {LONG}",
    ]  # fmt: skip


def test_words_broken_at_the_end_of_a_line_are_whole_again():
    assert "retrieval of passages" in text(["It is about the retrie-", "val of pas-", "sages, and no more than that."])
    kept = text(["A well-known rule, and one that is well-", "known to all who have read it once."])
    assert kept.endswith("one that is well-known to all who have read it once.")
    assert "2019-2020" in text(["It was so in the years 2019-", "2020 and not before, as far as we know."]).replace(
        " ", ""
    )


def test_running_titles_page_numbers_and_tables_of_contents_are_left_out():
    pages = [
        ["The Manual", f"{LONG} {name}", "which no other page has.", f"{number}"]
        for number, name in enumerate("abcd", 1)
    ]
    found = text(*pages)
    assert found.count("The Manual") == 1 and found.startswith("The Manual")
    assert not any(character.isdigit() for character in found)
    assert text(["Contents", "1 Introduction . . . . . . . . . 3", "2 More ........ iv", f"{LONG}."]) == f"{LONG}."
    left_and_right = [[f"Chapter 2: Rules {n}" if n % 2 else f"{n} The Manual", f"{LONG} {n}a"] for n in range(5)]
    assert "Chapter" not in text(*left_and_right)


def test_rows_of_numbers_at_the_edge_of_pages_stay():
    found = text(["2019 3.5 4.5", f"{LONG}."], ["2020 3.6 4.6", f"{LONG}."])
    assert "2019 3.5 4.5" in found and "2020 3.6 4.6" in found


def test_a_sentence_goes_on_over_a_page_and_pages_begin_where_they_begin():
    found, starts = joined([f"The first.\n{LONG} and", "", "goes on.\n", "Fourth."])
    assert f"{LONG} and goes on." in found
    assert starts == [0, found.index("goes on"), found.index("goes on"), found.index("Fourth")]
    assert joined([])[0] == joined(["", " "])[0] == ""


def test_lines_of_japanese_are_joined_without_blanks():
    assert (
        text(["東京は日本の首都であり、多くの人が住んで", "いる大きな都市です。"])
        == "東京は日本の首都であり、多くの人が住んでいる大きな都市です。"
    )
