"""Nearest passages over a real collection on disk, by the encoder that ships."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from convqa.components.encoding import named
from convqa.components.retrievers.dense import Dense
from convqa.domain import Passage, Query, Rewrite, Rewrites, Turn, TurnId, Turns
from convqa.errors import InputError
from convqa.indexing import add_vectors
from convqa.models import load_encoder
from convqa.stores import create_store, open_store

PASSAGES = [
    Passage("g", "Goethe wrote the play Faust.", title="Goethe", meta={"kind": "poet", "year": 1749}),
    Passage("s", "Schiller wrote The Robbers, a drama.", meta={"kind": "poet", "year": 1759}),
    Passage("w", "Weimar is a town in Thuringia."),
    Passage("z", "Zebras are striped animals of Africa."),
]


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    url = str(tmp_path_factory.mktemp("dense") / "collection")
    with create_store(url, "en") as store:
        store.add(PASSAGES)
    add_vectors(url, load_encoder("encoder"))
    return url


def rank(collection, *queries, rewrite="", **options):
    turns = Turns((Turn(TurnId(1, 1), "q"),))
    (ranking,) = Dense(collection, **options).run(turns, Rewrites((Rewrite(rewrite, queries),)))["rankings"]
    return ranking


def scores(ranking):
    return {hit.id: hit.score for hit in ranking.hits}


def test_scores_are_cosines_with_title_and_text(collection):
    ranking = rank(collection, Query("Which animals have stripes?"))
    model = load_encoder("encoder")
    asked = model.encode(["Which animals have stripes?"], role="query")[0]
    texts = ["Goethe\nGoethe wrote the play Faust.", *(passage.text for passage in PASSAGES[1:])]
    expected = dict(zip("gswz", (model.encode(texts, role="passage") @ asked).tolist(), strict=True))
    assert ranking.hits[0].id == "z"
    assert scores(ranking) == pytest.approx(expected, abs=1e-4)


def test_parameters(collection):
    ranking = rank(collection, Query("zebras"), top_k=2, max_texts=1)
    assert [hit.passage is None for hit in ranking.hits] == [False, True]
    assert rank(collection, Query("")).hits == ()


def filtered(retriever, filters):
    """What turns with these filters find, in one batch."""
    turns = Turns(tuple(Turn(TurnId(1, number), "q", filter=filter) for number, filter in enumerate(filters)))
    rewrites = Rewrites((Rewrite("", (Query("Which animals have stripes?"),)),) * len(filters))
    return retriever.run(turns, rewrites)["rankings"].items


def test_a_turns_filter_says_which_passages_it_finds_whoever_is_beside_it(collection):
    filters = [{}, {"kind": ("poet",)}, {"kind": ("poet",), "year": (1759.0,)}, {"kind": ("town",)}]
    rankings = filtered(Dense(collection), filters * 2)
    found = [{hit.id for hit in ranking.hits} for ranking in rankings]
    assert found[:4] == found[4:] == [set("gswz"), set("gs"), set("s"), set()]
    for filter, ranking in zip(filters, rankings, strict=False):
        (alone,) = filtered(Dense(collection), [filter])
        assert alone == ranking


def test_another_encoders_collection_and_one_without_vectors_are_refused(tmp_path):
    url = str(tmp_path / "c")
    with create_store(url, "en") as store:
        store.add(PASSAGES)
    with pytest.raises(InputError, match="add them with convqa index --collection"):
        Dense(url).warm_up()
    model = load_encoder("encoder")
    other = type(named(model))("another", "f" * 64, 3)
    writable = open_store(url)
    writable.add_vectors(["g"], np.eye(1, 3, dtype=np.float32), other)
    writable.commit()
    with pytest.raises(InputError, match="has vectors of 'another'"):
        Dense(url).warm_up()


def test_a_collection_with_some_vectors_only_is_told(tmp_path, caplog):
    url = str(tmp_path / "c")
    with create_store(url, "en") as store:
        store.add(PASSAGES[:2])
    add_vectors(url, load_encoder("encoder"))
    writable = open_store(url)
    writable.add(PASSAGES[2:])
    writable.commit()
    with caplog.at_level(logging.WARNING, "convqa"):
        Dense(url).warm_up()
    assert "vectors of 2 of its 4 passages" in caplog.text
