"""Sources by sentence: partners are found by wording."""

from __future__ import annotations

import pytest

from convqa.metrics.sentence_sources import Sourced, sentence_sources


def sentence(text, *sources):
    return Sourced(text, frozenset(sources))


GOLD = [sentence("東京は首都です。", "a"), sentence("大阪には城がある。", "b", "c"), sentence("以上。")]


@pytest.mark.parametrize(
    ("said", "precision", "recall"),
    [
        (GOLD, 1, 1),
        (GOLD[::-1], 1, 1),
        ([], 0, 0),
        ([sentence("東京は首都。", "a")], 1, 1 / 2),  # the other gold sentence has a partner, which lacks its sources
        ([sentence("東京は首都。", "b", "c")], 0, 1 / 2),  # right pages of another sentence: wrong here
        ([sentence("東京は首都。"), sentence("大阪の城。", "b")], 1 / 2, 1 / 4),  # one without sources counts 0
        ([sentence("以上。", "x"), sentence("東京は首都。", "a")], 1, 1 / 2),  # nobody knows the sources of the first
        ([sentence("以上。", "x")], 0, 0),
        ([sentence("XYZ", "a")], 0, 0),  # no partner
    ],
)
def test_by_hand(said, precision, recall):
    found = sentence_sources(said, GOLD)
    assert (found.precision, found.recall) == pytest.approx((precision, recall))


def test_equal_sentences_are_told_apart_by_their_sources():
    twice = [sentence("同じ。", "a"), sentence("同じ。", "b"), sentence("同じ。")]
    assert sentence_sources(twice, twice) == (1, 1, 1)
