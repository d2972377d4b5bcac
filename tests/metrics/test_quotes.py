"""How much of gold quotes is quoted."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convqa.metrics.characters import overlap, quote_recall


@pytest.mark.parametrize(
    ("quote", "gold", "expected"),
    [
        ("京都に行く。", "京都に行く。", 1),
        ("明日、京都に 行く。", "京都に\n行く。", 1),
        ("京都", "京都に行く。", 1 / 3),
        ("行く。京都に", "京都に行く。", 1 / 2),  # one span, not two
        ("大阪", "京都", 0),
        ("", "京都", 0),
        ("", " ", 1),
        ("京都", "", 0),
        ("か\u3099く", "がく", 1),
    ],
)
def test_the_longest_common_span(quote, gold, expected):
    assert overlap(quote, gold) == pytest.approx(expected)


def test_characters_that_are_everywhere_count_too():
    gold = "のは" * 150
    assert overlap("始" + gold, gold) == 1  # difflib would leave out popular ones by itself


@settings(deadline=None)
@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=5))
def test_bounds(quote, gold, more):
    assert 0 <= overlap(quote, gold) <= 1
    assert overlap(more + gold + more, gold) == 1 or not "".join(gold.split())


def test_every_gold_quote_has_its_best():
    assert quote_recall([], ["京都"]) == 0
    assert quote_recall(["京都", "大阪に"], ["京都に", "大阪に"]) == pytest.approx((2 / 3 + 1) / 2)
