"""Haystack's rankers as stations: two of its own that need no model, and one of the test's."""

from __future__ import annotations

from haystack import Document, Pipeline, component
from haystack.components.rankers import LostInTheMiddleRanker, MetaFieldRanker

from convqa.components.members import describe
from convqa.components.rerankers.haystack import HaystackReranker as Wrapper
from convqa.domain import Failure, Hit, Passage, Query, Ranking, Rankings, Rewrite, Rewrites, Turn, TurnId, Turns

PASSAGES = {
    id: Passage(id, f"The text of {id}.", meta={"year": year}) for id, year in zip("abcd", (1, 3, 2, 4), strict=True)
}
TURN = Turn(TurnId(1, 1), "?")


def ranking(ids="abcd", without=""):
    return Ranking(tuple(Hit(id, 9.0 - place, None if id in without else PASSAGES[id]) for place, id in enumerate(ids)))


def rewrite(text="x"):
    return Rewrite(text, (Query(text),))


def ids(ranking):
    return "".join(hit.id for hit in ranking.hits)


def falling(ranking):
    return all(above.score > below.score for above, below in zip(ranking.hits, ranking.hits[1:], strict=False))


def test_the_order_of_the_component_counts_even_against_its_scores():
    found = Wrapper(LostInTheMiddleRanker()).rerank(TURN, rewrite(), ranking())
    assert ids(found) == "acdb" and falling(found)
    assert [hit.passage for hit in found.hits] == [PASSAGES[id] for id in "acdb"]


def test_meta_fields_reach_the_component():
    found = Wrapper(MetaFieldRanker("year", weight=1.0)).rerank(TURN, rewrite(), ranking())
    assert ids(found) == "dbca" and falling(found)


def test_what_the_component_leaves_out_or_cannot_see_stays_behind():
    found = Wrapper(MetaFieldRanker("year", weight=1.0, top_k=1)).rerank(TURN, rewrite(), ranking(without="bd"))
    assert ids(found) == "cabd" and falling(found)
    assert [hit.passage is None for hit in found.hits] == [False, False, True, True]
    assert ids(Wrapper(MetaFieldRanker("year", weight=1.0), top_k=2).rerank(TURN, rewrite(), ranking())) == "db"


def test_without_a_question_or_passages_nothing_changes():
    station = Wrapper(MetaFieldRanker("year", weight=1.0))
    for text, given in (("", ranking()), (" \n", ranking()), ("x", ranking(without="abcd")), ("x", Ranking())):
        assert station.rerank(TURN, rewrite(text), given) == given


@component
class ByLength:
    """Scores documents by what the query says."""

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document]) -> dict:
        if query == "stranger":
            return {"documents": [Document(id="z", content="Z", score=1.0)]}
        if query == "bad":
            raise RuntimeError("out of memory")
        scores = {id: float(score) for id, score in zip("abcd", query, strict=False)}
        made = [Document(id=document.id, content="changed", score=scores[document.id]) for document in documents]
        return {"documents": sorted(made, key=lambda document: -document.score)}


def test_the_question_and_the_components_scores_are_used_and_passages_stay_as_they_were():
    found = Wrapper(ByLength()).rerank(TURN, rewrite("1757"), ranking())
    assert [(hit.id, hit.score) for hit in found.hits] == [("d", 7.0), ("b", 7.0), ("c", 5.0), ("a", 1.0)]
    assert found.hits[0].passage == PASSAGES["d"]


def test_one_that_fails_or_brings_strangers_is_a_failure_of_its_own():
    rewrites = Rewrites(tuple(rewrite(text) for text in ("1234", "bad", "stranger")))
    first, bad, stranger = (
        Wrapper(ByLength())
        .run(turns=Turns((TURN,) * 3), rewrites=rewrites, rankings=Rankings((ranking(),) * 3))["rankings"]
        .items
    )
    assert ids(first) == "dcba"
    assert bad == Failure("reranker", "RuntimeError", "out of memory")
    assert stranger.error == "ValueError" and "unknown documents: ['z']" in stranger.message


def test_it_survives_haystacks_yaml():
    graph = Pipeline()
    graph.add_component("reranker", Wrapper(MetaFieldRanker("year", weight=1.0, top_k=3), top_k=2))
    again = Pipeline.loads(graph.dumps(), allowed_modules=["convqa.components"]).get_component("reranker")
    assert describe(again) == describe(graph.get_component("reranker"))
    assert (again.top_k, again.wrapped.top_k) == (2, 3)


def test_components_that_load_something_are_told_to():
    told = []
    station = Wrapper(LostInTheMiddleRanker())
    station.warm_up()
    station.wrapped.warm_up = lambda: told.append("warm")
    station.warm_up()
    assert told == ["warm"]
