"""A loaded pipeline in Haystack: what crosses it, what it costs the home folder, what it says about itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from convqa.domain import Failure, Hit, Turn, TurnId, Turns
from convqa.driver.waves import answer
from convqa.errors import InputError, RunError, StoreUnavailable
from convqa.pipeline.build import build
from convqa.pipeline.document import Node, line
from convqa.pipeline.load import load


def one_node(type_name):
    return line({}, {"rewriter": Node(type=type_name)})


def turns(*questions):
    return Turns(tuple(Turn(TurnId(1, number), question) for number, question in enumerate(questions, 1)))


COPY = "convqa.components.rewriters.copy.Copy"


def test_a_wave_goes_through(monkeypatch):
    made = build(one_node(COPY), "test").run(turns("a", "b"))
    assert [rewrite.text for rewrite in made.rewrites] == ["a", "b"]
    assert made.rankings is None and made.readings is None and made.answers is None
    assert set(made.timings) == {"rewriter", "pipeline"}


def test_a_run_error_crosses_haystack_unwrapped(monkeypatch):
    def away(self, turn):
        raise StoreUnavailable("away")

    monkeypatch.setattr("convqa.components.rewriters.copy.Copy.rewrite", away)
    with pytest.raises(StoreUnavailable, match="away"):
        build(one_node(COPY), "test").run(turns("a"))


def test_the_collection_is_filled_in_and_not_written_down():
    pipeline = load("default")
    pipeline.bind("some-folder")
    assert pipeline.graph.get_component("retriever").collection == "some-folder"
    assert "some-folder" not in pipeline.document.to_yaml()


FOREIGN = """
from haystack import component
from convqa.domain import Rewrite, Query, Rewrites, Turns

@component
class Foreign:
    @component.output_types(rewrites=Rewrites)
    def run(self, turns: Turns):
        if any(turn.question == "bad" for turn in turns):
            raise KeyError("cause")
        made = tuple(Rewrite(turn.question, (Query(turn.question),)) for turn in turns)
        return {"rewrites": Rewrites(made[1:] if made[0].text == "short" else made)}
"""


@pytest.fixture
def foreign(tmp_path, monkeypatch):
    (tmp_path / "foreign_for_test.py").write_text(FOREIGN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("HAYSTACK_DESERIALIZATION_ALLOWLIST", "foreign_for_test")
    return build(one_node("foreign_for_test.Foreign"), "test")


def test_a_foreign_component_that_raises_leaves_nothing_in_the_home_folder(foreign):
    first, second = answer(foreign, list(turns("a", "bad")))
    assert first.rewrite.text == "a"
    assert second.error == Failure("rewriter", "KeyError", "'cause'")
    assert list(Path.home().iterdir()) == []


def test_a_foreign_component_that_loses_an_item_fails_there(foreign):
    first, second = answer(foreign, list(turns("short", "a")))
    assert (
        "Foreign returned 0 values; expected 1, one Rewrite for each turn" in first.error.message
        and second.rewrite.text == "a"
    )


def test_a_users_mistake_found_while_running_stops_the_run(monkeypatch):
    def mistaken(self, turn):
        raise InputError("the index cannot do this.")

    monkeypatch.setattr("convqa.components.rewriters.copy.Copy.rewrite", mistaken)
    with pytest.raises(RunError, match="cannot do this") as raised:
        build(one_node(COPY), "test").run(turns("a"))
    assert raised.value.ordinary().exit_code == 2


def test_scores_that_are_no_numbers_stop_the_run(monkeypatch):
    def broken(self, turn):
        return Hit("p", float("nan"))

    monkeypatch.setattr("convqa.components.rewriters.copy.Copy.rewrite", broken)
    with pytest.raises(RunError, match="must be finite"):
        build(one_node(COPY), "test").run(turns("a"))


def test_only_pipelines_that_search_need_a_collection():
    assert load("default").needs_collection
    assert not load("default", settings={"retriever.type": "given"}).needs_collection


def test_a_pipeline_does_not_name_its_collection():
    with pytest.raises(InputError, match="use --collection"):
        load("default", settings={"retriever.collection": "elasticsearch://host/index"})


def test_a_default_that_changes_is_another_pipeline():
    assert "max_texts: 20" in load("default").document.to_yaml()


def test_a_member_without_a_method_says_so(monkeypatch):
    monkeypatch.delattr("convqa.components.rewriters.copy.Copy.rewrite")
    (failed,) = build(one_node(COPY), "test").run(turns("a")).rewrites
    assert failed.message == "Copy implements no method of its station, rewriter"


ASKED = {"device": "cpu", "precision": "bfloat16"}


def options(pipeline, *path):
    parameters = pipeline.document.components[path[0]].init_parameters
    for name in path[1:]:
        parameters = parameters[name]
    return parameters["options"]


def test_they_reach_every_station_that_has_a_model():
    made = load("talk", options=ASKED)
    for path in (("retriever",), ("rewriter", "rewriter")):
        assert options(made, *path) == ASKED, path


def test_what_the_pipeline_says_comes_first():
    made = load("qrecc", {"reader.options": {"device": "cuda"}}, options=ASKED)
    assert options(made, "reader") == {"device": "cuda", "precision": "bfloat16"}
    assert options(made, "retriever") == ASKED


def test_without_them_nothing_changes():
    assert load("talk", options={}).document == load("talk").document
    assert options(load("default"), "retriever") is None


def test_what_is_no_option_is_refused():
    with pytest.raises(InputError, match=r"options"):
        load("default", options={"device": "tpu"})
