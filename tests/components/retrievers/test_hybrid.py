"""Two rankings made one: the same as the two retrievers by themselves with a fusion behind them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import ValidationError

from convqa.components.encoding import named
from convqa.components.rankings import FUSIONS
from convqa.components.rerankers.encoder import EncoderReranker
from convqa.components.retrievers import hybrid
from convqa.components.retrievers.bm25 import BM25
from convqa.components.retrievers.dense import Dense
from convqa.components.retrievers.hybrid import Hybrid
from convqa.domain import Passage, Query, Ranking, Rewrite, Rewrites, Turn, TurnId, Turns
from convqa.indexing import add_vectors
from convqa.models import load_encoder
from convqa.models.source import install
from convqa.stores import create_store, open_store

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

ALL = Rewrites(
    (
        Rewrite("", (Query("Who wrote a play or drama of Faust, of animals, a town?"),)),
        Rewrite("", (Query("Goethe wrote The Robbers in a town of striped animals"),)),
    )
)
"""Questions that find every passage by words."""


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    url = str(tmp_path_factory.mktemp("hybrid") / "collection")
    with create_store(url, "en") as store:
        store.add(PASSAGES)
    add_vectors(url, load_encoder("encoder"))
    return url


def rank(retriever, rewrites=REWRITES):
    return retriever.run(TURNS, rewrites)["rankings"].items


def joined(sparse, dense, fusion="interpolation", weights=(1.0, 1.5), top_k=100):
    pairs = zip(sparse, dense, strict=True)
    return [FUSIONS[fusion](list(zip(weights, pair, strict=True)), top_k) for pair in pairs]


@pytest.mark.parametrize("fusion", ["rrf", "interpolation"])
def test_it_fuses_the_rankings_of_two_retrievers(collection, fusion):
    weights = {"sparse": 0.4, "dense": 2.0}
    rankings = zip(rank(BM25(collection, stopwords="long")), rank(Dense(collection)), strict=True)
    expected = [FUSIONS[fusion]([(0.4, one), (2.0, two)], 3) for one, two in rankings]
    made = rank(Hybrid(collection, top_k=3, fusion=fusion, weights=weights, max_texts=2))
    assert scores(made) == scores(expected)
    for ranking in made:
        assert [hit.passage is not None for hit in ranking.hits] == [True, True, False][: len(ranking.hits)]


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
    assert second.hits[0].passage == PASSAGES[3]


def scores(rankings):
    return [[(hit.id, hit.score) for hit in ranking.hits] for ranking in rankings]


def test_a_weight_that_is_not_named_keeps_its_default(collection):
    hybrid = Hybrid(collection, weights={"sparse": 0.5})
    assert hybrid.weights == {"sparse": 0.5, "dense": 1.5} and Hybrid().weights == {"sparse": 1.0, "dense": 1.5}
    assert scores(rank(hybrid)) == scores(rank(Hybrid(collection, weights={"sparse": 0.5, "dense": 1.5})))


@pytest.mark.parametrize("fusion", ["interpolation", "rrf"])
def test_a_shorter_ranking_is_the_beginning_of_a_longer_one(collection, monkeypatch, fusion):
    monkeypatch.setattr(hybrid, "_FUSION_DEPTH", 2, raising=False)
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
        ({"fusion": "sum"}, "fusion"),
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


@pytest.fixture(params=["none", "some", "of another encoder"])
def lacking(request, tmp_path):
    """A function: the URL of a collection of which a passage lacks a vector of the encoder."""
    url = str(tmp_path / "lacking")
    with create_store(url, "en") as store:
        store.add(PASSAGES)
    with_vectors = {"none": 0, "some": 2, "of another encoder": len(PASSAGES)}[request.param]
    if with_vectors:
        model = load_encoder("encoder")
        encoder = named(model)
        if request.param == "of another encoder":
            encoder = replace(encoder, name="other", checksum="another")
        store = open_store(url)
        some = PASSAGES[:with_vectors]
        store.add_vectors([passage.id for passage in some], model.encode([one.whole_text for one in some]), encoder)
        store.commit()
    return url


@pytest.mark.parametrize("member", [Hybrid, Dense, EncoderReranker])
def test_without_a_name_the_encoder_is_the_collections_own(tmp_path, caplog, member):
    url = str(tmp_path / "own")
    with create_store(url, "en") as store:
        store.add(PASSAGES)
    own = load_encoder("encoder?passage=passage: ")
    add_vectors(url, own)
    station = member(url)
    station.warm_up()
    assert station.identity() == {"encoder": own.identity}
    assert caplog.text == ""


@pytest.mark.parametrize("member", [Hybrid, EncoderReranker])
def test_without_vectors_the_encoder_is_that_of_the_language(tmp_path, encoder_of_german, member):
    url = str(tmp_path / "german")
    with create_store(url, "de") as store:
        store.add(PASSAGES)
    before = member(url).identity()
    install("multilingual", encoder_of_german)
    station = member(url)
    assert station.identity() == {"encoder": load_encoder("multilingual").identity} != before
    if member is Hybrid:
        assert before == {} and all(ranking.hits for ranking in rank(station))


def rounded(rankings):
    return [[(hit.id, pytest.approx(hit.score, abs=1e-5)) for hit in ranking.hits] for ranking in rankings]


def test_of_a_collection_that_lacks_vectors_the_first_by_words_are_encoded(lacking, collection):
    sparse = rank(BM25(lacking, stopwords="default"), ALL)
    near = rank(Dense(collection), ALL)
    two = [{hit.id for hit in ranking.hits[:2]} for ranking in sparse]
    dense = [
        Ranking(tuple(hit for hit in ranking.hits if hit.id in ids)) for ranking, ids in zip(near, two, strict=True)
    ]
    parts = [[(1.0, one), (1.5, two)] for one, two in zip(sparse, dense, strict=True)]
    expected = [FUSIONS["interpolation"](part, 100) for part in parts]
    hybrid = Hybrid(lacking, stopwords="default", candidates=2)
    assert scores(rank(hybrid, ALL)) == rounded(expected)
    assert hybrid.identity() == {"encoder": load_encoder("encoder").identity}
    # Of all passages, it is what a collection with all vectors gives.
    assert scores(rank(Hybrid(lacking, stopwords="default"), ALL)) == rounded(
        rank(Hybrid(collection, stopwords="default"), ALL)
    )


def test_without_candidates_words_alone_count(without_vectors, caplog):
    hybrid = Hybrid(without_vectors, candidates=0, top_k=2)
    assert rank(hybrid) == rank(BM25(without_vectors, top_k=2, stopwords="long"))
    assert (hybrid.identity(), caplog.messages) == ({}, [])


def test_candidates_keep_to_a_turns_filter(without_vectors):
    turns = Turns((Turn(TurnId(1, 1), "q", filter={"kind": ("poet",)}),))
    rewrites = Rewrites((Rewrite("", (Query("Goethe and striped animals"),)),))
    (ranking,) = Hybrid(without_vectors).run(turns, rewrites)["rankings"].items
    assert [hit.id for hit in ranking.hits] == ["g"]


def test_more_candidates_than_are_fused_by_default_are_ranked(without_vectors, monkeypatch):
    monkeypatch.setattr(hybrid, "_FUSION_DEPTH", 1)
    one, two = (rank(Hybrid(without_vectors, top_k=1, candidates=many), ALL) for many in (1, 3))
    assert [len(ranking.hits) for ranking in (*one, *two)] == [1] * 4


def test_some_vectors_or_anothers_are_said_to_be_left_aside_once(lacking, caplog):
    hybrid = Hybrid(lacking)
    rank(hybrid), rank(hybrid)
    said = "of its 4 passages: the first 30 by words are ranked by those of 'encoder'"
    assert len(caplog.messages) == (open_store(lacking).info().encoder is not None)
    assert all(said in message for message in caplog.messages)


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
    hybrid = Hybrid(url)
    assert rank(hybrid, MOUTH) == rank(BM25(url, stopwords="long"), MOUTH)
    assert hybrid.identity() == {}
    (said,) = caplog.messages
    assert "is in language 'de', which the encoder 'encoder' does not know: its passages are ranked by words" in said


def test_an_encoder_that_names_no_language_is_used_with_any(german, caplog, monkeypatch):
    url = german(vectors=True)
    caplog.clear()
    monkeypatch.setattr(load_encoder("encoder"), "languages", [])
    assert rank(Hybrid(url), MOUTH) != rank(BM25(url, stopwords="long"), MOUTH)
    assert caplog.messages == []
