"""Feedback by hand."""

from __future__ import annotations

import pytest

from convqa.components.retrievers.bm25 import Feedback, expand, relevance_model
from convqa.domain import Hit, Passage, Query, Ranking

FOUND = Ranking(
    (
        Hit("a", 3.0, Passage("a", "Zebras graze; zebras and the okapis.", title="Zebra")),
        Hit("b", 1.0, Passage("b", "The gnu")),
        Hit("c", 9.0, Passage("c", "not among the first")),
    )
)


def test_the_relevance_model_by_hand():
    model = relevance_model(FOUND, Feedback(passages=2, terms=3), "en")
    # zebra 3 of 5, graze 1, okapi 1 in the first, whose score is 3; gnu 1 of 1 in the second.
    assert model == {
        "zebra": pytest.approx(1.8 / 3.4),
        "gnu": pytest.approx(1.0 / 3.4),
        "graze": pytest.approx(0.6 / 3.4),
    }


def test_each_passage_gives_its_most_frequent_words_only():
    assert relevance_model(FOUND, Feedback(passages=1, terms=1), "en") == {"zebra": 1.0}


def test_the_query_keeps_its_words_and_gets_its_share_of_feedback():
    query = Query("Which zebras run?", (("savannah", 0.5),), weight=2.0)
    fed = expand(query, FOUND, Feedback(passages=1, terms=1, weight=0.8), "en", "long")
    # "Which" is a stop word of the long list; the others and the term sum to 2.5; .2 / .8 of that is feedback's.
    assert fed == Query("Which zebras run?", (("savannah", 0.5), ("zebra", pytest.approx(0.625))), weight=2.0)


def test_the_bounds_of_the_weight():
    query = Query("zebras", (("savannah", 0.5),))
    assert expand(query, FOUND, Feedback(passages=1, terms=1, weight=1.0), "en") == query
    assert expand(query, FOUND, Feedback(passages=1, terms=1, weight=0.0), "en") == Query("", (("zebra", 1.0),))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (Query("the"), FOUND),
        (Query("zebras"), Ranking()),
        (Query("zebras"), Ranking((Hit("a", 3.0),))),
        (Query("zebras"), Ranking((Hit("a", 3.0, Passage("a", "the and of, a 中 x")),))),
    ],
    ids=["a query of stop words", "nothing found", "no passage", "nothing but common words"],
)
def test_without_anything_to_learn_from_a_query_stays(query, found):
    assert expand(query, found, Feedback(passages=10, terms=10, weight=0.5), "en") == query
