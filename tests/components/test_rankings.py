"""Mixing scores, and passages for many rankings at once."""

from __future__ import annotations

import pytest

from convqa.components.rankings import attach, interpolate
from convqa.domain import Hit, Passage, Ranking

SPARSE = Ranking((Hit("x", 12.0), Hit("y", 9.0), Hit("z", 2.0)))
DENSE = Ranking((Hit("z", 0.9), Hit("y", 0.4)))


def test_interpolation_by_hand():
    hits = interpolate([(1.0, SPARSE), (0.5, DENSE)], 10).hits
    assert [(hit.id, hit.score) for hit in hits] == [("x", 1.0), ("y", pytest.approx(0.7)), ("z", 0.5)]
    assert len(interpolate([(1.0, SPARSE), (0.5, DENSE)], 2).hits) == 2


def test_rankings_without_differences_and_empty_ones():
    same = Ranking((Hit("b", 3.0), Hit("a", 3.0)))
    assert [(hit.id, hit.score) for hit in interpolate([(0.5, same), (1.0, Ranking())], 5).hits] == [
        ("b", 0.5),
        ("a", 0.5),
    ]
    assert interpolate([(1.0, Ranking())], 5) == Ranking()


def test_passages_are_fetched_once_for_all():
    asked = []

    def fetch(ids):
        asked.append(list(ids))
        return [Passage(id, f"text of {id}") for id in ids]

    first, second = attach([SPARSE, DENSE], 2, fetch)
    assert asked == [["x", "y", "z"]]
    assert [hit.passage and hit.passage.text for hit in first.hits] == ["text of x", "text of y", None]
    assert [hit.passage.id for hit in second.hits] == ["z", "y"]
    assert attach([first], 2, fetch) == [first] and len(asked) == 1
