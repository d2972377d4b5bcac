"""The plumbing of the stations: fusion of queries, timings, errors in place, errors that stop a run."""

from __future__ import annotations

import logging

import pytest
from haystack import Pipeline, component

from convqa.components.base import STATIONS, TIMINGS, Builder, Retriever, Rewriter
from convqa.components.rankings import fuse
from convqa.domain import (
    Answer,
    Answers,
    Citation,
    Failure,
    Hit,
    Query,
    Ranking,
    Rankings,
    Reading,
    Readings,
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
    (failed,) = Inventive().run(batch, Rewrites((Rewrite.unchanged(""),)), Rankings((Ranking(),)))["answers"]
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


RETURNS = {
    "rewriter": ("rewrite", Rewrite("x", ())),
    "retriever": ("search", Ranking()),
    "reranker": ("rerank", Ranking()),
    "reader": ("read", Reading((), 0.0)),
    "builder": ("build", Answer("none", "", reason="why")),
    "decider": ("decide", Answer("none", "", reason="why")),
}
"""Station -> the method of one turn (of a retriever: of all queries), and a right value."""


def made_by(station, method, value):
    """What a member of a station makes of two turns, where its method returns this."""
    member = component(type("Mine", (STATIONS[station],), {method: lambda self, *_: value, "__module__": "mine"}))()
    columns = {
        "turns": Turns(TURNS.items[:2]),
        "rewrites": Rewrites((Rewrite("", (Query("q"),)),) * 2),
        "rankings": Rankings((Ranking(),) * 2),
        "readings": Readings((Reading((), 0.0),) * 2),
        "answers": Answers((Answer("none", "", reason="why"),) * 2),
    }
    names = member.__haystack_input__._sockets_dict
    (batch,) = member.run(**{name: columns[name] for name in names}).values()
    return list(batch)


@pytest.mark.parametrize("station", STATIONS)
def test_a_wrong_value_names_component_and_method_and_what_was_wanted(station):
    method, right = RETURNS[station]
    batch, kind = {"search": "search"}.get(method, f"{method}_batch"), type(right).__name__
    assert made_by(station, method, [right] if method == "search" else right) == [right] * 2
    values = [
        (None, "None"),
        ("text", "'text'"),
        (3.5, "3.5"),
        (object(), "a value of type object"),
        ((), "a value of type tuple"),
    ]
    for value, shown in [] if method == "search" else values:
        failures = made_by(station, method, value)
        assert failures == [Failure(station, "TypeError", failures[0].message)] * 2
        assert failures[0].message.startswith(f"mine.Mine returned {shown}; expected convqa.domain.")
        assert failures[0].message.endswith(f".{kind}")
    wanted = f"expected a list with one {kind} for each turn"
    for value, said in [
        (None, f"None; {wanted}"),
        ({"a": right}, f"a value of type dict; {wanted}"),
        ([], f"0 values; expected 1, one {kind} for each turn"),
        ([None], "None; expected convqa.domain."),
    ]:
        for failure in made_by(station, batch, value):
            assert failure.message.startswith(f"mine.Mine returned {said}"), failure


def test_one_wrong_value_spoils_no_other():
    @component
    class Mine(Rewriter):
        def rewrite(self, turn):
            return None if turn.question == "q2" else Rewrite("x", (Query("q"),))

    first, failed, last = Mine().run(TURNS)["rewrites"]
    assert first == last == Rewrite("x", (Query("q"),)) and "Mine returned None" in failed.message


def test_where_it_was_raised_is_in_the_log(caplog):
    with caplog.at_level(logging.DEBUG, "convqa"):
        Picky().run(TURNS)
    (record,) = caplog.records
    assert record.levelno == logging.DEBUG and record.getMessage() == "rewriter failed"
    assert record.exc_info[2].tb_next is not None


def test_what_is_not_implemented_inside_a_method_is_a_failure():
    @component
    class Ends(Rewriter):
        def rewrite(self, turn):
            raise NotImplementedError("not for this model")

    assert Ends().run(TURNS)["rewrites"].items[0] == Failure("rewriter", "NotImplementedError", "not for this model")
    idle = component(type("Idle", (Rewriter,), {}))().run(TURNS)["rewrites"].items[0]
    assert idle.message == "Idle implements no method of its station, rewriter"
