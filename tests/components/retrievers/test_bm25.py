"""BM25 over a real collection on disk."""

from __future__ import annotations

import pytest

from convqa.components.retrievers.bm25 import BM25
from convqa.domain import Passage, Query, Rewrite, Rewrites, Turn, TurnId, Turns
from convqa.errors import InputError, RunError
from convqa.stores import create_store


@pytest.fixture
def collection(tmp_path):
    url = str(tmp_path / "collection")
    with create_store(url, "en") as store:
        store.add(
            [
                Passage("g", "Goethe wrote Faust.", meta={"kind": "poet"}),
                Passage("s", "Schiller wrote The Robbers."),
                Passage("w", "Weimar lies in Thuringia."),
            ]
        )
        store.commit()
    return url


def rank(collection, text, *terms, **options):
    turns = Turns((Turn(TurnId(1, 1), text),))
    rewrites = Rewrites((Rewrite(text, (Query(text, terms),)),))
    (ranking,) = BM25(collection, **options).run(turns, rewrites)["rankings"]
    return ranking


def test_question_words_and_weighted_terms_rank(collection):
    assert [hit.id for hit in rank(collection, "Who wrote it?", ("Schiller", 0.3)).hits] == ["s", "g"]


def test_parameters_reach_the_store(collection):
    assert len(rank(collection, "wrote", top_k=1).hits) == 1
    assert [hit.passage is None for hit in rank(collection, "wrote", max_texts=1).hits] == [False, True]
    assert rank(collection, "did", stopwords="long").hits == ()


def test_without_a_collection_warming_up_says_so():
    with pytest.raises(InputError):
        BM25().warm_up()


def test_several_queries_are_fused_and_the_top_carries_its_passages(collection):
    queries = (Query("Goethe wrote"), Query("Weimar"), Query("Thuringia", weight=3.0))
    turns, rewrites = Turns((Turn(TurnId(1, 1), "q"),)), Rewrites((Rewrite("q", queries),))
    (ranking,) = BM25(collection, max_texts=1).run(turns, rewrites)["rankings"]
    assert [hit.id for hit in ranking.hits] == ["w", "g", "s"]
    assert ranking.hits[0].passage is not None
    assert ranking.hits[0].score == pytest.approx(1 / 61 + 3 / 61, rel=1e-6)


def test_a_pipeline_keeps_the_collection_that_it_opened(collection):
    retriever = BM25(collection)
    retriever.warm_up()
    with create_store(collection, "en", replace=True) as store:
        store.add([Passage("new", "Goethe wrote Faust.")])
        store.commit()
    turns, rewrites = Turns((Turn(TurnId(1, 1), "q"),)), Rewrites((Rewrite("q", (Query("Goethe"),)),))
    (ranking,) = retriever.run(turns, rewrites)["rankings"]
    assert [hit.id for hit in ranking.hits] == ["g"]


FILTERED = [
    ({}, ["v", "s", "g"]),
    ({"kind": ("poet",)}, ["s", "g"]),
    ({"kind": ("town",)}, ["v"]),
    ({"kind": ("town", "poet")}, ["v", "s", "g"]),
    ({"kind": ("poet",), "year": (1759.0,)}, ["s"]),
    ({"kind": ("town",), "year": (1759,)}, []),
    ({"kind": ()}, []),
]


@pytest.fixture
def sets(tmp_path):
    """Passages of two kinds, all of which have the word that is asked for."""
    url = str(tmp_path / "sets")
    with create_store(url, "en") as store:
        store.add(
            [
                Passage("g", "Goethe wrote Faust.", meta={"kind": "poet", "year": 1749}),
                Passage("s", "Schiller wrote The Robbers.", meta={"kind": "poet", "year": 1759}),
                Passage("v", "Of Vienna Mozart wrote gladly", meta={"kind": "town"}),
            ]
        )
    return url


def filtered(retriever, text, filters):
    """The ids that turns with these filters find, in one batch."""
    turns = Turns(tuple(Turn(TurnId(1, number), text, filter=filter) for number, filter in enumerate(filters)))
    rewrites = Rewrites(tuple(Rewrite(text, (Query(text),)) for _ in filters))
    return [
        sorted((hit.id for hit in ranking.hits), reverse=True) for ranking in retriever.run(turns, rewrites)["rankings"]
    ]


def test_a_turns_filter_says_which_passages_it_finds_whoever_is_beside_it(sets):
    filters, expected = zip(*FILTERED, strict=True)
    assert filtered(BM25(sets), "wrote", filters * 2) == [*expected, *expected]
    assert [filtered(BM25(sets), "wrote", [filter])[0] for filter in filters] == list(expected)


def test_a_filter_by_a_field_that_no_passage_has_is_refused(sets):
    with pytest.raises((InputError, RunError), match="no passage has the field nothing; expected one of kind, year"):
        filtered(BM25(sets), "wrote", [{"nothing": (1,)}])
