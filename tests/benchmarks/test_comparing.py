from __future__ import annotations

import pytest


def test_a_difference_is_taken_turn_by_turn():
    from comparing import difference

    # The means are equal to .01; the turns are not, and every one lost.
    found = difference([0.9, 0.1, 0.5] * 20, [0.91, 0.11, 0.51] * 20)
    assert found.mean == pytest.approx(-0.01)
    assert found.low == pytest.approx(found.high)
    assert found.certain
    assert str(found) == "**-0.010 [-0.010, -0.010]**"


def test_a_difference_that_chance_explains_is_not_certain():
    from comparing import difference

    found = difference([1.0, 0.0] * 10, [0.0, 1.0] * 10)
    assert found.low < 0 < found.high
    assert not found.certain
    assert str(found).startswith("+0.000 [-")


def test_the_share_of_a_gap():
    from comparing import share

    assert share(0.7, low=0.6, high=0.8) == 0.5
    assert share(0.5, low=0.6, high=0.8) == -0.5
