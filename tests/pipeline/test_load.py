"""A loaded pipeline in Haystack: what crosses it, what it costs the home folder, what it says about itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from convqa.domain import Failure, Turn, TurnId, Turns
from convqa.errors import StoreUnavailable
from convqa.pipeline.compose import compose
from convqa.pipeline.document import Connection, Document, Node
from convqa.pipeline.load import load, wire


def one_node(type_name):
    return Document(
        components={"rewriter": Node(type=type_name)},
        inputs={"turns": ["rewriter.turns"]},
        outputs={"rewrites": "rewriter.rewrites"},
    )


def turns(*questions):
    return Turns(tuple(Turn(TurnId(1, number), question) for number, question in enumerate(questions, 1)))


COPY = "convqa.components.rewriters.copy.Copy"


def test_a_wave_goes_through(monkeypatch):
    made = wire(one_node(COPY), "test").run(turns("a", "b"))
    assert [rewrite.text for rewrite in made.rewrites] == ["a", "b"]
    assert made.rankings is None and made.readings is None and made.answers is None
    assert set(made.timings) == {"rewriter", "pipeline"}


def test_a_run_error_crosses_haystack_unwrapped(monkeypatch):
    def away(self, turn):
        raise StoreUnavailable("away")

    monkeypatch.setattr("convqa.components.rewriters.copy.Copy.rewrite", away)
    with pytest.raises(StoreUnavailable, match="away"):
        wire(one_node(COPY), "test").run(turns("a"))


def test_an_item_error_stays_in_its_place_and_out_of_the_home_folder(monkeypatch):
    real = __import__("convqa.components.rewriters.copy", fromlist=["Copy"]).Copy.rewrite

    def picky(self, turn):
        if turn.question == "bad":
            raise ValueError("no")
        return real(self, turn)

    monkeypatch.setattr("convqa.components.rewriters.copy.Copy.rewrite", picky)
    first, second, third = wire(one_node(COPY), "test").run(turns("a", "bad", "c")).rewrites
    assert (first.text, third.text) == ("a", "c")
    assert second == Failure("rewriter", "ValueError", "no")
    assert list(Path.home().iterdir()) == []


def test_pipelines_state_their_stages():
    assert load("default").stages == {"rewrites", "rankings", "readings", "answers"}
    assert wire(one_node(COPY), "test").stages == {"rewrites"}


def test_the_collection_is_filled_in_and_not_written_down():
    pipeline = load("default", "some-folder")
    assert pipeline._graph.get_component("retriever").collection == "some-folder"
    assert "some-folder" not in pipeline.document.to_yaml()


def test_equal_pipelines_give_equal_yaml():
    document = compose("default")
    shuffled = document.model_copy(
        update={"connections": [Connection(**arrow.model_dump()) for arrow in reversed(document.connections)]}
    )
    assert shuffled.to_yaml() == document.to_yaml()
