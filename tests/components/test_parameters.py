"""Numbers that are none are refused where a pipeline is checked, by every station, and not late in a run."""

from __future__ import annotations

import math
from typing import Any, get_type_hints

import pytest
from pydantic import ValidationError

from convqa.components.base import STATIONS
from convqa.components.members import full_name, import_type, members, parameters_of
from convqa.components.retrievers.hybrid import Hybrid

UNLIMITED = {"rewriters.generate.seconds"}
"""An infinite limit of time is none, and does no harm."""


def parameters():
    for station in STATIONS:
        for member in members(station):
            cls = import_type(full_name(member, "type", [station]), "type")
            kinds = get_type_hints(cls)
            for name in parameters_of(cls):
                if kinds[name] is not Any and f"{station}s.{member}.{name}" not in UNLIMITED:
                    yield cls, name


def refused(cls, **parameters):
    """Where pydantic found a mistake; what is left out is not looked at."""
    with pytest.raises(ValidationError) as error:
        cls(**parameters)
    return [".".join(map(str, item["loc"])) for item in error.value.errors() if item["type"] != "missing"]


NO_NUMBERS = (math.inf, -math.inf, math.nan)


def test_no_parameter_is_infinite():
    checked = 0
    for cls, name in parameters():
        for value in NO_NUMBERS:
            assert {place.partition(".")[0] for place in refused(cls, **{name: value})} == {name}, (cls, value)
            checked += 1
    assert checked > 250


@pytest.mark.parametrize(
    ("cls", "place", "shape"),
    [
        (Hybrid, "weights.sparse", lambda value: {"sparse": value}),
        (Hybrid, "weights.dense", lambda value: {"dense": value}),
    ],
)
def test_nothing_in_a_parameter_is_infinite(cls, place, shape):
    for value in NO_NUMBERS:
        assert refused(cls, **{place.partition(".")[0]: shape(value)}) == [place], value
