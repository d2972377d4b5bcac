"""Two rankings made one: the same as the two retrievers by themselves with a joiner behind them."""

from __future__ import annotations

import itertools

import pytest
from pydantic import ValidationError

from convqa.components.base import WantedVectors
from convqa.components.joiners.interpolation import Interpolation
from convqa.components.joiners.rrf import RRF
from convqa.components.retrievers import hybrid
from convqa.components.retrievers.bm25 import BM25
from convqa.components.retrievers.dense import Dense
from convqa.components.retrievers.hybrid import Hybrid
from convqa.domain import Passage, Query, Ranking, Rankings, Rewrite, Rewrites, Turn, TurnId, Turns
from convqa.errors import InputError
from convqa.indexing import add_vectors
from convqa.models import Options, load_encoder
from convqa.stores import create_store

PASSAGES = [
    Passage("g", "Goethe wrote the play Faust.", title="Goethe", meta={"kind": "poet"}),
    Passage("s", "Schiller wrote The Robbers, a drama."),
    Passage("w", "Weimar is a town in Thuringia."),
    Passage("z", "Zebras are striped animals of Africa."),
]
TURNS = Turns((Turn(TurnId(1, 1), "q"), Turn(TurnId(1, 2), "q")))
REWRITES = Rewrites(
    (
        Rewrite("Who wrote Faust?", (Query("Who wrote it?", (("Faust", 0.3),)),)),
        Rewrite("", (Query("animals with stripes"),)),
    )
)


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    url = str(tmp_path_factory.mktemp("hybrid") / "collection")
    with create_store(url, "en") as store:
        store.add(PASSAGES)
    add_vectors(url, load_encoder("encoder"))
    return url


def rank(retriever, rewrites=REWRITES):
    return retriever.run(TURNS, rewrites)["rankings"].items


@pytest.mark.parametrize(("fusion", "joiner"), [("rrf", RRF), ("interpolation", Interpolation)])
def test_it_is_the_two_retrievers_and_a_joiner(collection, fusion, joiner):
    weights = {"sparse": 0.4, "dense": 2.0}
    one, two = rank(BM25(collection, top_k=3, stopwords="long")), rank(Dense(collection, top_k=2))
    made = joiner(inputs=["sparse", "dense"], weights=weights, texts=2, collection=collection, top_k=3)
    made.warm_up()
    expected = made.run(sparse=Rankings(one), dense=Rankings(two))["rankings"].items
    hybrid = Hybrid(collection, top_k=3, fusion=fusion, weights=weights, depth={"sparse": 3, "dense": 2}, texts=2)
    for ours, theirs in zip(rank(hybrid), expected, strict=True):
        assert [(hit.id, hit.score) for hit in ours.hits] == [(hit.id, hit.score) for hit in theirs.hits]
        assert [hit.passage is not None for hit in ours.hits] == [True, True, False][: len(ours.hits)]


def test_a_turns_filter_holds_for_words_and_vectors(collection):
    turns = Turns(
        tuple(Turn(TurnId(1, 1), "q", filter=filter) for filter in ({}, {"kind": ("poet",)}, {"kind": ("x",)}))
    )
    rewrites = Rewrites((Rewrite("", (Query("Goethe and striped animals"),)),) * 3)
    rankings = Hybrid(collection).run(turns, rewrites)["rankings"].items
    assert [{hit.id for hit in ranking.hits} for ranking in rankings] == [set("gswz"), set("g"), set()]


def test_defaults_interpolate_and_drop_the_long_list_of_stop_words(collection):
    first, second = rank(Hybrid(collection))
    assert first.hits[0].id == "g" and first.hits[0].score == pytest.approx(1.0 + 1.5)
    assert second.hits[0].id == "z"
    assert rank(Hybrid(collection, vectors=["question"], depth={"dense": 1}))[1].hits[0].passage == PASSAGES[3]


def scores(rankings):
    return [[(hit.id, hit.score) for hit in ranking.hits] for ranking in rankings]


def test_feedback_reaches_either_ranking(collection):
    one, two = {"passages": 1, "terms": 5}, {"passages": 1, "weight": 0.2}
    # By words it finds three passages: of two, the scores brought to 0 to 1 are 0 and 1, whatever the feedback.
    asked = Rewrites((Rewrite("", (Query("Who wrote a play or drama of Africa?"),)), REWRITES.items[1]))
    joiner = Interpolation(inputs=["sparse", "dense"], weights={"sparse": 1.0, "dense": 1.5})
    made = {}
    for first, second in ((one, two), (one, None), (None, two), (None, None)):
        prf = {name: given for name, given in (("sparse", first), ("dense", second)) if given}
        made[tuple(prf)] = scores(rank(Hybrid(collection, stopwords="default", prf=prf or None), asked))
        sparse, dense = rank(BM25(collection, prf=first), asked), rank(Dense(collection, prf=second), asked)
        assert made[tuple(prf)] == scores(joiner.run(sparse=Rankings(sparse), dense=Rankings(dense))["rankings"])
    # Each of the four is another ranking, or this would say nothing.
    assert all(one != two for one, two in itertools.combinations(made.values(), 2))


def test_a_weight_that_is_not_named_keeps_its_default(collection):
    hybrid = Hybrid(collection, weights={"sparse": 0.5})
    assert hybrid.weights == {"sparse": 0.5, "dense": 1.5} and Hybrid().weights == {"sparse": 1.0, "dense": 1.5}
    assert scores(rank(hybrid)) == scores(rank(Hybrid(collection, weights={"sparse": 0.5, "dense": 1.5})))


@pytest.mark.parametrize("fusion", ["interpolation", "rrf"])
def test_a_shorter_ranking_is_the_beginning_of_a_longer_one(collection, monkeypatch, fusion):
    monkeypatch.setattr(hybrid, "_DEPTH", 2, raising=False)
    asked = Rewrites((Rewrite("", (Query("Who wrote a play or drama of Africa?"),)), REWRITES.items[1]))
    longest = rank(Hybrid(collection, top_k=9, fusion=fusion, stopwords="default"), asked)
    assert [len(ranking.hits) for ranking in longest] == [4, 4]
    for ranking in longest:
        assert list(ranking.hits) == sorted(ranking.hits, key=lambda hit: (hit.score, hit.id), reverse=True)
    for top_k in (1, 2, 3, 4):
        cut = scores([Ranking(ranking.hits[:top_k]) for ranking in longest])
        assert scores(rank(Hybrid(collection, top_k=top_k, fusion=fusion, stopwords="default"), asked)) == cut


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": {"lexical": 1.0}}, "weights.lexical"),
        ({"weights": {"dense": 0.0}}, "weights.dense"),
        ({"depth": {"dense": 0}}, "depth.dense"),
        ({"fusion": "sum"}, "fusion"),
        ({"prf": {"sparse": {"passages": 0}}}, "prf.sparse.passages"),
    ],
)
def test_wrong_parameters_are_refused(options, message):
    with pytest.raises(ValidationError, match=message):
        Hybrid(**options)


@pytest.fixture(scope="module")
def without_vectors(tmp_path_factory):
    url = str(tmp_path_factory.mktemp("plain") / "collection")
    with create_store(url, "en") as store:
        store.add(PASSAGES)
    return url


def test_a_collection_without_vectors_is_refused(without_vectors):
    with pytest.raises(InputError, match="has no vectors"):
        Hybrid(without_vectors).warm_up()
    assert Hybrid().wanted_vectors() == WantedVectors("encoder")
    options = {"precision": "int8", "device": "cpu"}
    for retriever in (Hybrid(options=options), Dense(options=options)):
        assert retriever.wanted_vectors() == WantedVectors("encoder", options=Options("cpu", "int8"))


def test_or_ranked_by_words_alone_where_that_is_asked_for(without_vectors, caplog):
    hybrid = Hybrid(without_vectors, without_vectors="sparse", top_k=2)
    assert rank(hybrid) == rank(BM25(without_vectors, top_k=2, stopwords="long"))
    assert "convqa index --collection" in caplog.text
    assert hybrid.identity() == {}
    assert hybrid.wanted_vectors() == WantedVectors("encoder", needed=False)


@pytest.fixture
def german(tmp_path):
    """A function: the URL of a collection of German passages, with vectors of the English encoder or without."""

    def make(vectors):
        url = str(tmp_path / "german")
        with create_store(url, "de") as store:
            store.add(
                [Passage("d", "Die Donau mündet ins Schwarze Meer."), Passage("r", "Der Rhein mündet in die Nordsee.")]
            )
        if vectors:
            add_vectors(url, load_encoder("encoder"))
        return url

    return make


MOUTH = Rewrites((Rewrite.unchanged("Wo ist die Mündung der Donau?"), Rewrite.unchanged("Nordsee?")))


def test_vectors_of_an_encoder_that_does_not_know_the_language_are_left_aside(german, caplog):
    url = german(vectors=True)
    caplog.clear()
    hybrid = Hybrid(url, without_vectors="sparse")
    assert rank(hybrid, MOUTH) == rank(BM25(url, stopwords="long"), MOUTH)
    assert hybrid.identity() == {}
    (said,) = caplog.messages
    assert (
        "is in language 'de', which the encoder 'encoder' (en) does not know: its passages are ranked by words" in said
    )


def test_nor_are_they_recommended(german, caplog):
    assert rank(Hybrid(german(vectors=False), without_vectors="sparse"), MOUTH)
    assert caplog.messages == []


def test_who_asks_for_them_gets_them_with_a_warning_and_without_where_no_language_is_told(german, caplog, monkeypatch):
    url = german(vectors=True)
    caplog.clear()
    assert rank(Hybrid(url), MOUTH) != rank(BM25(url, stopwords="long"), MOUTH)
    (said,) = caplog.messages
    assert "the encoder 'encoder' (en) does not know: rankings by its vectors are poor" in said
    caplog.clear()
    monkeypatch.setattr(load_encoder("encoder"), "languages", [])
    assert rank(Hybrid(url, without_vectors="sparse"), MOUTH) == rank(Hybrid(url), MOUTH)
    assert caplog.messages == []
