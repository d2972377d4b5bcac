"""The shipped table of word rarity."""

from __future__ import annotations

from convqa.text.idf import CEILING, idf, table


def test_common_words_weigh_less():
    assert 0 <= idf("the") < idf("city") < idf("opera") < CEILING


def test_unknown_words_and_languages_have_the_ceiling():
    assert idf("xyzzyx") == CEILING
    assert idf("the", "de") == idf("..", "../en") == CEILING
    assert table("de") == {}


def test_the_table_is_small_and_in_range():
    assert 10_000 < len(table("en")) < 20_000
    assert all(0 <= value <= CEILING for value in table("en").values())
