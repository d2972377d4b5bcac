"""The shipped encoder orders what words found: the passage that speaks of the question comes first."""

from __future__ import annotations

import pytest

from convqa.components.rerankers.encoder import EncoderReranker
from convqa.domain import Hit, Passage, Query, Ranking, Rankings, Rewrite, Rewrites, Turn, TurnId, Turns
from convqa.indexing import collection_of_passages

PASSAGES = [
    Passage("bank", "The river bank was flooded after three days of rain in spring."),
    Passage("money", "The bank lends money to customers, who pay interest on their loans."),
    Passage("bread", "Bread is made of flour, water and yeast, and baked in an oven."),
]
RANKING = Ranking(tuple(Hit(passage.id, 9.0 - place) for place, passage in enumerate(PASSAGES)))
QUESTION = "How does a bank earn from loans?"


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield collection_of_passages(PASSAGES)


def rerank(collection, question=QUESTION, ranking=RANKING, **options):
    station = EncoderReranker(collection, **options)
    station.warm_up()
    turns, rewrites = Turns((Turn(TurnId(1, 1), "q"),)), Rewrites((Rewrite(question, (Query(question),)),))
    (ranked,) = station.run(turns, rewrites, Rankings((ranking,)))["rankings"]
    return ranked


def test_the_nearest_passage_comes_first_with_its_text(collection):
    ranked = rerank(collection, weight=1.0)
    assert [hit.id for hit in ranked.hits] == ["money", "bank", "bread"]
    assert ranked.hits[0].passage == PASSAGES[1]
    assert 0 < ranked.hits[0].score <= 1


def test_the_old_scores_count_with_the_rest_of_the_weight(collection):
    assert [hit.id for hit in rerank(collection, weight=0.01).hits] == ["bank", "money", "bread"]


def test_what_lies_beyond_the_depth_stays_behind(collection):
    assert [hit.id for hit in rerank(collection, depth=1).hits] == ["bank", "money", "bread"]
    assert [hit.id for hit in rerank(collection, top_k=1, weight=1.0).hits] == ["money"]


def test_without_words_and_for_passages_that_are_not_there_the_order_stays(collection):
    assert rerank(collection, " ").hits == rerank(collection, " ", weight=1.0).hits
    assert [hit.id for hit in rerank(collection, " ").hits] == ["bank", "money", "bread"]
    ranking = Ranking((Hit("gone", 10.0), *RANKING.hits))
    assert [hit.id for hit in rerank(collection, ranking=ranking, weight=1.0).hits][-1] == "gone"
