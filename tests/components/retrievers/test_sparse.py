"""Learned sparse retrieval over a real collection on disk, by a tiny model made here."""

from __future__ import annotations

import numpy as np
import pytest

from convqa.components.retrievers.sparse import Sparse
from convqa.domain import Passage, Query, Rewrite, Rewrites, Turn, TurnId, Turns
from convqa.errors import InputError
from convqa.indexing import add_vectors
from convqa.models import load_encoder
from convqa.stores import create_store

PASSAGES = [
    Passage("g", "Goethe wrote Faust.", meta={"kind": "poet"}),
    Passage("f", "Faust and again Faust.", title="Only", meta={"kind": "play"}),
    Passage("o", "Only Goethe?"),
]


@pytest.fixture
def make(tmp_path):
    def made(model):
        url = str(tmp_path / "c")
        with create_store(url, "en") as store:
            store.add(PASSAGES)
        if model is not None:
            add_vectors(url, model)
        return url

    return made


def rank(url, *queries, turn=Turn(TurnId(1, 1), "q"), rewrite="", **options):  # noqa: B008 - frozen
    made = Sparse(url, **options)
    made.warm_up()
    (ranking,) = made.run(Turns((turn,)), Rewrites((Rewrite(rewrite, queries),)))["rankings"]
    return ranking


def test_scores_are_inner_products_of_token_weights(make, sparse_encoder):
    model = load_encoder(str(sparse_encoder), sparse=True)
    url = make(model)
    ranking = rank(url, Query("Who wrote it?"))
    asked = model.encode(["Who wrote it?"], "query")[0]
    weights = model.encode([passage.whole_text for passage in PASSAGES])
    expected = dict(zip("gfo", (weights @ asked).tolist(), strict=True))
    assert {hit.id: hit.score for hit in ranking.hits} == pytest.approx(expected, rel=1e-2)
    assert [hit.id for hit in ranking.hits] == sorted(expected, key=expected.__getitem__, reverse=True)
    assert rank(url, Query("Who wrote it?"), encoder=str(sparse_encoder)) == ranking
    assert rank(url, Query("")).hits == ()
    assert Sparse(url).identity().keys() == {"encoder"}


def test_several_texts_of_a_query_are_averaged(make, sparse_encoder):
    model = load_encoder(str(sparse_encoder), sparse=True)
    url = make(model)
    ranking = rank(url, Query("wrote"), rewrite="faust")
    asked = np.mean(model.encode(["wrote", "faust"], "query"), axis=0)
    scores = model.encode([passage.whole_text for passage in PASSAGES]) @ asked
    assert {hit.id: hit.score for hit in ranking.hits} == pytest.approx(dict(zip("gfo", scores, strict=True)), rel=1e-2)


def test_a_turns_filter_is_kept_to(make, sparse_encoder):
    turn = Turn(TurnId(1, 1), "q", filter={"kind": ("play",)})
    ranking = rank(make(load_encoder(str(sparse_encoder), sparse=True)), Query("Goethe"), turn=turn)
    assert [hit.id for hit in ranking.hits] == ["f"]


@pytest.mark.parametrize("model", [None, "encoder"])
def test_a_collection_without_token_weights_is_refused(make, model):
    with pytest.raises(InputError, match="no token weights; make one with convqa index"):
        rank(make(model and load_encoder(model)), Query("q"))
