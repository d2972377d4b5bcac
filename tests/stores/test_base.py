"""What every engine refuses in the same words."""

from __future__ import annotations

import pytest

from convqa.domain import Query
from convqa.errors import InputError
from convqa.stores.base import Encoder, Info, check_weights, refuse_encoder

ENCODER = Encoder("mine", "c" * 64, 4)


def info(encoder=None, *capabilities):
    return Info("lucene", 3, "en", "a", ("text",), "0" * 32, encoder, capabilities=frozenset(capabilities))


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (info(None, "vectors"), r"the index has no vectors\..*convqa index --collection URL --vectors"),
        (
            info(Encoder("mine", "d" * 64, 4), "vectors"),
            "has vectors of 'mine' .*dddd.*, got a query of 'mine' .*cccc",
        ),
    ],
    ids=["none yet", "another's"],
)
def test_an_encoder_is_refused_with_what_to_do(found, message):
    with pytest.raises(InputError, match=message):
        refuse_encoder(ENCODER, found, "the index")


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([float("nan")], "finite"),
        ([float("inf"), 1.0], "finite"),
        ([float("inf"), -float("inf")], "finite"),
        ([6e29, 6e29], "below 1e\\+30"),
        ([1.0, -1e-9], "not negative"),
    ],
)
def test_what_is_no_boost_is_refused(weights, message):
    with pytest.raises(ValueError, match=f"{message}.*Rome"):
        check_weights(weights, Query("Rome"))
