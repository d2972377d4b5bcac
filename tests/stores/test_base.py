"""What every engine refuses in the same words."""

from __future__ import annotations

import pytest

from convqa.errors import InputError
from convqa.stores.base import Encoder, Info, refuse_encoder

ENCODER = Encoder("mine", "c" * 64, 4)


def test_the_same_weights_under_another_name_are_the_same_encoder():
    assert Encoder("mine", "c" * 64, 4) == Encoder("moved/mine", "c" * 64, 4)


def info(encoder=None, *capabilities):
    return Info("lucene", 3, "en", "a", ("text",), "0" * 32, encoder, capabilities=frozenset(capabilities))


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (info(None, "k1"), "the index has no vectors, and convqa, which only reads it, cannot add any"),
        (info(None, "vectors"), "the index has no vectors; add them with convqa index --vectors"),
        (info(Encoder("mine", "d" * 64, 4), "vectors"), "has vectors of mine .*dddd.*; found a query of mine .*cccc"),
    ],
    ids=["an engine without", "none yet", "another's"],
)
def test_an_encoder_is_refused_with_what_to_do(found, message):
    with pytest.raises(InputError, match=message):
        refuse_encoder(ENCODER, found, "the index")


def test_the_collections_own_is_not():
    assert refuse_encoder(ENCODER, info(ENCODER, "vectors"), "the index") is None  # and raises nothing
