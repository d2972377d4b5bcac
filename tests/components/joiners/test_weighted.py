"""Several rankings made one, by their ranks and by their scores."""

from __future__ import annotations

import pytest
from haystack import Pipeline
from pydantic import ValidationError

from convqa.components.joiners.weighted import Weighted
from convqa.components.retrievers.given import Given
from convqa.components.rewriters.copy import Copy
from convqa.domain import Failure, Hit, Passage, Ranking, Rankings, Turn, TurnId, Turns
from convqa.errors import InputError
from convqa.indexing import index_sources

SPARSE = Ranking((Hit("x", 9.0), Hit("y", 1.0)))
DENSE = Ranking((Hit("y", 0.9, Passage("y", "text")), Hit("z", 0.8)))


def join(*, top_k=100, weights=None, **rankings):
    joiner = Weighted(inputs=list(rankings), weights=weights, top_k=top_k)
    (ranking,) = joiner.run(**{name: Rankings((ranking,)) for name, ranking in rankings.items()})["rankings"]
    return ranking


def test_scores_by_hand():
    ranking = join(sparse=SPARSE, dense=DENSE)
    assert [hit.id for hit in ranking.hits] == ["y", "x", "z"]
    assert [hit.score for hit in ranking.hits] == pytest.approx([1 / 62 + 1 / 61, 1 / 61, 1 / 62], rel=1e-6)
    assert ranking.hits[0].passage == Passage("y", "text")


def test_interpolated_scores_by_hand():
    def interpolated(**options):
        joiner = Weighted(inputs=["sparse", "dense"], fusion="interpolation", **options)
        sparse = Ranking((Hit("x", 9.0), Hit("y", 6.0), Hit("z", 1.0)))
        dense = Ranking((Hit("y", 0.9, Passage("y", "text")), Hit("z", 0.8)))
        (ranking,) = joiner.run(sparse=Rankings((sparse,)), dense=Rankings((dense,)))["rankings"]
        return [(hit.id, hit.score) for hit in ranking.hits]

    assert interpolated() == [("y", 1.625), ("x", 1.0), ("z", 0.0)]
    assert interpolated(weights={"sparse": 4.0}, top_k=2) == [("x", 4.0), ("y", 3.5)]


def test_weights_and_top_k():
    assert [hit.id for hit in join(sparse=SPARSE, dense=DENSE, weights={"dense": 9.0}, top_k=2).hits] == ["y", "z"]


def test_the_order_of_arrival_decides_nothing():
    joiner = Weighted(inputs=["a", "b"], weights={"b": 2.0})
    rankings = {"a": Rankings((SPARSE,)), "b": Rankings((DENSE,))}
    assert joiner.run(**rankings) == joiner.run(**dict(reversed(rankings.items())))


def test_a_failed_ranking_fails_the_turn():
    failure = Failure("retriever", "ValueError", "no")
    (item,) = Weighted(inputs=["a", "b"]).run(a=Rankings((SPARSE,)), b=Rankings((failure,)))["rankings"]
    assert item == failure


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inputs": ["a"]}, "at least 2 items"),
        ({"inputs": ["a", "a"]}, "expected distinct names"),
        ({"inputs": ["a", "b c"]}, "not 'b c'"),
        ({"inputs": ["a", "b"], "weights": {"c": 1.0}}, "weights: unknown inputs 'c'"),
        ({"inputs": ["a", "b"], "weights": {"a": 0.0}}, "greater than 0"),
        ({"inputs": ["a", "b"], "fusion": "sum"}, "rrf"),
        ({}, "inputs"),
    ],
)
def test_wrong_parameters_say_what_is_wanted(options, message):
    with pytest.raises((ValidationError, InputError), match=message):
        Weighted(**options)


def test_in_a_pipeline_and_through_its_yaml():
    pipeline = Pipeline()
    pipeline.add_component("rewriter", Copy())
    pipeline.add_component("one", Given())
    pipeline.add_component("two", Given(top_k=5))
    pipeline.add_component("joiner", Weighted(inputs=["sparse", "dense"], weights={"dense": 2.0}))
    for name, socket in (("one", "sparse"), ("two", "dense")):
        pipeline.connect("rewriter.rewrites", f"{name}.rewrites")
        pipeline.connect(f"{name}.rankings", f"joiner.{socket}")
    passages = (Passage("g", "Goethe wrote Faust."), Passage("s", "Schiller wrote."))
    turns = Turns((Turn(TurnId(1, 1), "Who wrote Faust?", passages=passages),))
    data = {name: {"turns": turns} for name in ("rewriter", "one", "two")}
    made = pipeline.run(data)
    assert [hit.id for hit in made["joiner"]["rankings"].items[0].hits] == ["g", "s"]
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["convqa.components"])
    assert again.run(data) == made


def test_passages_that_no_input_attached_are_fetched(tmp_path):
    passages = tmp_path / "p.jsonl"
    passages.write_text("".join(f'{{"id": "{id}", "text": "text of {id}"}}\n' for id in "xyz"))
    index_sources([passages], str(tmp_path / "c"))
    joiner = Weighted(inputs=["sparse", "dense"], texts=2, collection=str(tmp_path / "c"))
    joiner.warm_up()
    (ranking,) = joiner.run(sparse=Rankings((SPARSE,)), dense=Rankings((DENSE,)))["rankings"]
    assert [hit.passage and hit.passage.text for hit in ranking.hits] == ["text", "text of x", None]
