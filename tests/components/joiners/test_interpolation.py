"""Normalised interpolation with named inputs; what it shares with ``rrf`` is tested there."""

from __future__ import annotations

import pytest

from convqa.components.joiners.interpolation import Interpolation
from convqa.domain import Hit, Passage, Ranking, Rankings
from convqa.errors import InputError

SPARSE = Ranking((Hit("x", 9.0), Hit("y", 6.0), Hit("z", 1.0)))
DENSE = Ranking((Hit("y", 0.9, Passage("y", "text")), Hit("z", 0.8)))


def join(**options):
    joiner = Interpolation(inputs=["sparse", "dense"], **options)
    (ranking,) = joiner.run(sparse=Rankings((SPARSE,)), dense=Rankings((DENSE,)))["rankings"]
    return ranking


def test_scores_by_hand():
    ranking = join()
    assert [(hit.id, hit.score) for hit in ranking.hits] == [("y", 1.625), ("x", 1.0), ("z", 0.0)]
    assert ranking.hits[0].passage == Passage("y", "text")


def test_weights_and_top_k():
    assert [(hit.id, hit.score) for hit in join(weights={"sparse": 4.0}, top_k=2).hits] == [("x", 4.0), ("y", 3.5)]


def test_a_weight_of_no_input_is_refused():
    with pytest.raises(InputError, match="weights names 'c'"):
        join(weights={"c": 1.0})
