"""Ranking the passages that a turn brings with it."""

from __future__ import annotations

from convqa.components.retrievers.given import Given
from convqa.domain import Failure, Passage, Query, Rewrite, Rewrites, Turn, TurnId, Turns
from convqa.stores import create_store, open_store
from convqa.stores.base import SearchParams

GOETHE = Passage("g", "Goethe wrote Faust.")
SCHILLER = Passage("s", "Schiller wrote The Robbers and Don Carlos.")
BLANK = Passage("b", "")


def rank(question, *passages, terms=(), **options):
    turns = Turns((Turn(TurnId(1, 1), question, passages=passages),))
    (ranking,) = Given(**options).run(turns, Rewrites((Rewrite(question, (Query(question, terms),)),)))["rankings"]
    return ranking


def test_the_best_passage_is_first_and_carries_its_text():
    ranking = rank("Who wrote Faust?", SCHILLER, GOETHE)
    assert [hit.id for hit in ranking.hits] == ["g", "s"]
    assert ranking.hits[0].passage == GOETHE


def test_the_score_is_that_of_a_store(tmp_path):
    passages = [GOETHE, SCHILLER, BLANK, Passage("l", "Faust and Carlos " * 40, "Weimar"), Passage("t", "x", "Faust")]
    with create_store(str(tmp_path / "c"), "en") as store:
        store.add(passages)
    query = Query("Who wrote Faust?", (("Don Carlos", 0.3), ("Weimar", 0.7)))
    (expected,) = open_store(str(tmp_path / "c")).search([query], 9, SearchParams())
    found = rank("Who wrote Faust?", *passages, terms=query.terms).hits[: len(expected.hits)]
    assert [(hit.id, hit.score) for hit in found] == [(hit.id, hit.score) for hit in expected.hits]


def test_the_title_counts():
    assert rank("Weimar", GOETHE, Passage("t", "A poet.", title="Weimar")).hits[0].id == "t"


def test_history_terms_count_with_their_weight():
    assert rank("wrote", GOETHE, SCHILLER, terms=(("Carlos", 0.3),)).hits[0].id == "s"


def test_without_any_match_the_given_order_stays():
    ranking = rank("Zeppelin?", SCHILLER, BLANK, GOETHE)
    assert [(hit.id, hit.score) for hit in ranking.hits] == [("s", 0.0), ("b", -1.0), ("g", -2.0)]
    assert [hit.id for hit in rank("", BLANK, SCHILLER).hits] == ["b", "s"]


def test_top_k_and_no_passages():
    assert len(rank("wrote", GOETHE, SCHILLER, BLANK, top_k=2).hits) == 2
    assert rank("wrote").hits == ()


def test_a_turn_without_passages_of_its_own_fails_and_says_why():
    turns = Turns((Turn(TurnId(7, 1), "Who?"), Turn(TurnId(7, 2), "Who wrote?", passages=(GOETHE,))))
    rewrites = Rewrites((Rewrite("Who?", (Query("Who?"),)), Rewrite("Who wrote?", (Query("Who wrote?"),))))
    failed, ranked = Given().run(turns, rewrites)["rankings"]
    assert failed == Failure(
        "retriever",
        "ValueError",
        "turn 7_1 has no passages of its own, which the retriever 'given' ranks; "
        "to search a collection, use a pipeline with the retriever 'bm25'",
    )
    assert ranked.hits[0].id == "g"
