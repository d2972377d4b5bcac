"""Ranking the passages that a turn brings with it."""

from __future__ import annotations

import math

import pytest

from convqa.components.retrievers.given import Given
from convqa.domain import Failure, Passage, Query, Rewrite, Rewrites, Turn, TurnId, Turns

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


def test_the_score_is_the_stores_formula():
    ranking = rank("Faust", GOETHE, SCHILLER, k1=0.82, b=0.68)
    # 3 and 5 tokens: the stop words are gone
    wanted = math.log(1 + (2 - 1 + 0.5) / (1 + 0.5)) / (1 + 0.82 * (1 - 0.68 + 0.68 * 3 / 4))
    assert ranking.hits[0].score == pytest.approx(wanted, rel=1e-6)


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
        "turn 7_1 brings no passages of its own: the retriever 'given' ranks only those; "
        "to search a collection, use a pipeline with the retriever 'bm25'",
    )
    assert ranked.hits[0].id == "g"
