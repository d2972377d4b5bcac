"""The plumbing of the stations: fusion of queries, timings, errors in place, errors that stop a run."""

from __future__ import annotations

import pytest
from haystack import Pipeline, component

from convqa.components.base import TIMINGS, Builder, Retriever, Rewriter
from convqa.components.rankings import fuse
from convqa.domain import (
    Answer,
    Citation,
    Failure,
    Hit,
    Query,
    Ranking,
    Rankings,
    Rewrite,
    Rewrites,
    Sentence,
    Turn,
    TurnId,
    Turns,
)
from convqa.errors import StoreUnavailable

TURNS = Turns(tuple(Turn(TurnId(1, number), f"q{number}") for number in (1, 2, 3)))


@component
class Picky(Rewriter):
    """Fails as a batch, and alone only at the second question."""

    def rewrite(self, turn: Turn) -> Rewrite:
        if turn.question == "q2":
            raise ValueError("not this one")
        return Rewrite(turn.question.upper(), ())


@component
class Short(Rewriter):
    """Loses an item."""

    def rewrite_batch(self, turns: list[Turn]) -> list[Rewrite]:
        return [Rewrite(turn.question, ()) for turn in turns][:1]


@component
class Away(Rewriter):
    """Its server is away."""

    def rewrite(self, turn: Turn) -> Rewrite:
        raise StoreUnavailable("the server is away")


@component
class Echo(Retriever):
    """Ranks the letters of a query."""

    top_k = 3

    def search(self, turns: list[Turn], queries: list[Query]) -> list[Ranking]:
        return [Ranking.of([Hit(letter, 9.0 - place) for place, letter in enumerate(query.text)]) for query in queries]


@component
class Inventive(Builder):
    """Cites what nobody found."""

    def build(self, turn, rewrite, ranking, reading):
        return Answer("answer", "x", (Sentence("x", (Citation("stranger"),)),))


def test_a_bad_item_is_a_failure_in_its_place():
    first, failed, last = Picky().run(TURNS)["rewrites"]
    assert (first.text, last.text) == ("Q1", "Q3")
    assert failed == Failure("rewriter", "ValueError", "not this one")


def test_a_member_that_loses_items_does_not_shift_the_others():
    assert [item.text for item in Short().run(TURNS)["rewrites"]] == ["q1", "q2", "q3"]


def test_an_error_that_stops_the_run_crosses_haystack_unwrapped():
    graph = Pipeline()
    graph.add_component("rewriter", Away())
    with pytest.raises(StoreUnavailable, match="away"):
        graph.run({"rewriter": {"turns": TURNS}})


def test_several_queries_are_fused_with_their_weights_and_one_keeps_its_scores():
    rewrites = (
        Rewrite("", (Query("ab"), Query("ba", weight=2.0))),
        Rewrite("", (Query("ab"),)),
        Rewrite("", (Query("ab"), Query("cd"))),
    )
    fused, raw, cut = Echo().run(TURNS, Rewrites(rewrites))["rankings"]
    assert [hit.id for hit in fused.hits] == ["b", "a"]
    assert fused.hits[0].score == pytest.approx(1 / 62 + 2 / 61, rel=1e-6)
    assert [(hit.id, hit.score) for hit in raw.hits] == [("a", 9.0), ("b", 8.0)]
    assert [hit.id for hit in cut.hits] == ["c", "a", "d"]


def test_fusion_breaks_ties_by_id_and_cuts():
    a, b = Ranking((Hit("x", 2.0),)), Ranking((Hit("y", 2.0),))
    assert [hit.id for hit in fuse([(1.0, a), (1.0, b)], 1).hits] == ["y"]


def test_an_answer_may_cite_only_its_own_ranking():
    batch = Turns(TURNS.items[:1])
    (failed,) = Inventive().run(batch, Rewrites((Rewrite("", ()),)), Rankings((Ranking(),)))["answers"]
    assert isinstance(failed, Failure) and "stranger" in failed.message


def test_seconds_are_counted_by_node_inside_a_run_only():
    Picky().run(TURNS)
    timings: dict[str, float] = {}
    token = TIMINGS.set(timings)
    try:
        Picky().run(TURNS)
    finally:
        TIMINGS.reset(token)
    assert list(timings) == ["rewriter"] and 0 < timings["rewriter"] < 1
