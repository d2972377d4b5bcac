"""Character ROUGE-L, F1 and overlap of quotes, against a plain dynamic program and by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convqa.metrics.characters import characters, f1, overlap, quote_recall, rouge_l

SHORT = st.text(alphabet="東京都はが\u3099 \n。a", max_size=30)


def common_subsequence(one, two):
    row = [0] * (len(two) + 1)
    for sign in one:
        before = row[:]
        for place, other in enumerate(two, 1):
            row[place] = before[place - 1] + 1 if sign == other else max(before[place], row[place - 1])
    return row[-1]


@settings(deadline=None)
@given(SHORT, SHORT)
def test_rouge_l_is_the_longest_common_subsequence(prediction, truth):
    said, wanted = characters(prediction), characters(truth)
    found = rouge_l(prediction, truth)
    if said and wanted:
        common = common_subsequence(said, wanted)
        assert (found.precision, found.recall) == (common / len(said), common / len(wanted))
        assert found.f1 == pytest.approx(2 * common / (len(said) + len(wanted)))
    else:
        assert set(found) == {float(said == wanted)}


@pytest.mark.parametrize(
    ("prediction", "truth", "rouge", "bag"),
    [
        ("", "", 1, 1),
        (" \u3000\n", "", 1, 1),
        ("", "京都", 0, 0),
        ("京都", " ", 0, 0),
        ("京都", "大阪", 0, 0),
        ("京都", "都京", 0.5, 1),
        ("京 都\u3000\n", "京都", 1, 1),
        ("か\u3099", "が", 1, 1),
        ("ａ", "a", 0, 0),  # full width stays another character
        ("ああ", "あ", 2 / 3, 2 / 3),
        ("👍🏽", "👍", 2 / 3, 2 / 3),
    ],
)
def test_by_hand(prediction, truth, rouge, bag):
    assert rouge_l(prediction, truth).f1 == pytest.approx(rouge)
    assert f1(prediction, truth) == pytest.approx(bag)


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


def test_every_gold_quote_has_its_best():
    assert quote_recall([], ["京都"]) == 0
    assert quote_recall(["京都", "大阪に"], ["京都に", "大阪に"]) == pytest.approx((2 / 3 + 1) / 2)
