"""``--device`` and ``--precision``: which models of a pipeline they reach."""

from __future__ import annotations

import pytest

from convqa.errors import InputError
from convqa.pipeline.load import load

ASKED = {"device": "cpu", "precision": "int8"}


def options(pipeline, *path):
    node = pipeline.document.components[path[0]].model_dump()
    for name in path[1:]:
        node = node["init_parameters"][name]
    return node["init_parameters"]["options"]


def test_they_reach_every_station_that_has_a_model():
    made = load("talk", options=ASKED)
    for path in (("retriever",), ("reader",), ("decider",), ("rewriter", "rewriter")):
        assert options(made, *path) == ASKED, path
    assert options(load("asking", options=ASKED), "builder") == ASKED
    assert options(load("generative", options=ASKED), "builder") == ASKED


def test_what_the_pipeline_says_comes_first():
    made = load("default", {"reader.options": {"device": "cuda"}}, options=ASKED)
    assert options(made, "reader") == {"device": "cuda", "precision": "int8"}
    assert options(made, "retriever") == ASKED


def test_without_them_nothing_changes():
    assert load("talk", options={}).document == load("talk").document
    assert options(load("default"), "retriever") is None


def test_what_is_no_option_is_refused():
    with pytest.raises(InputError, match=r"options"):
        load("default", options={"device": "tpu"})
