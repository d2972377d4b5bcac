"""The weights of terms that Lucene takes."""

from __future__ import annotations

import pytest

from convqa.domain import Query
from convqa.stores.weights import check_weights


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([float("nan")], "finite"),
        ([float("inf"), 1.0], "finite"),
        ([float("inf"), -float("inf")], "finite"),
        ([6e29, 6e29], "below 1e\\+30"),
        ([1.0, -1e-9], "no negative"),
    ],
)
def test_what_is_no_boost_is_refused(weights, message):
    with pytest.raises(ValueError, match=f"{message}.*Rome"):
        check_weights(weights, Query("Rome"))


def test_other_weights_are_taken():
    check_weights([], Query(""))
    check_weights(iter([0.0, 1e-30, 9e29]), Query("Rome"))
