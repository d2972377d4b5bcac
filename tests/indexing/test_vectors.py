"""Vectors into a collection: what is encoded, in which commits, and how a load that ended early goes on."""

from __future__ import annotations

import shutil

import pytest

from convqa.domain import Passage
from convqa.errors import InputError
from convqa.indexing import add_vectors, default_encoder, vectors
from convqa.models import load_encoder
from convqa.models.source import install, installed
from convqa.stores import create_store, open_store
from convqa.workers import start_workers

PASSAGES = [
    Passage(f"p{number}", f"The text of number {number}.", "" if number % 2 else "Title") for number in range(9)
]


@pytest.fixture
def collection(tmp_path):
    url = str(tmp_path / "c")
    with create_store(url, "en") as store:
        store.add(PASSAGES)
    return url


@pytest.fixture
def model():
    return load_encoder("encoder")


def test_every_passage_gets_the_vector_of_title_and_text(collection, model):
    seen = []
    info = add_vectors(collection, model, progress=lambda done, total=0: seen.append((done, total)))
    assert (info.vectors, info.encoder.name, info.encoder.checksum) == (9, model.name, model.checksum)
    assert seen == [(9, 9)]
    texts = ["Title\nThe text of number 0.", "The text of number 1."]
    for found, expected in zip(open_store(collection).vectors(["p0", "p1"]), model.encode(texts), strict=True):
        assert found == pytest.approx(expected, abs=1e-5)


def test_a_load_that_ended_goes_on_from_its_last_commit(collection, model, monkeypatch):
    monkeypatch.setattr(vectors, "_PASSAGES_PER_BATCH", 2)
    monkeypatch.setattr(vectors, "_VECTORS_PER_COMMIT", 4)

    def stop(done, total=0):
        if done == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        add_vectors(collection, model, progress=stop)
    assert [passage.id for passage in open_store(collection).without_vectors()] == ["p4", "p5", "p6", "p7", "p8"]
    seen = []
    assert add_vectors(collection, model, progress=lambda done, total=0: seen.append((done, total))).vectors == 9
    assert seen == [(2, 5), (4, 5), (5, 5)]


def test_nothing_to_do_and_new_passages(collection, model):
    before = add_vectors(collection, model)
    assert add_vectors(collection, model) == before
    store = open_store(collection)
    store.add([Passage("more", "Another text.")])
    store.commit()
    assert add_vectors(collection, model).vectors == 10


def test_vectors_of_another_encoder_are_refused_before_anything_is_encoded(collection, model):
    import numpy as np

    from convqa.stores.base import Encoder

    store = open_store(collection)
    store.add_vectors(["p0"], np.eye(1, 3, dtype=np.float32), Encoder("another", "f" * 64, 3))
    store.commit()
    with pytest.raises(InputError, match=r"has vectors of 'another' .*, got vectors of 'encoder'"):
        vectors.store_for_vectors(collection, model)


@pytest.mark.parametrize(("known", "warned"), [(["en"], True), (["en", "de"], False), ([], False)])
def test_an_encoder_of_another_language_is_told(tmp_path, model, caplog, monkeypatch, known, warned):
    monkeypatch.setattr(model, "languages", known)
    with create_store(str(tmp_path / "c"), "de") as store:
        store.add([Passage("d", "Die Donau mündet ins Schwarze Meer.")])
    assert add_vectors(str(tmp_path / "c"), model).vectors == 1
    assert ("is in language 'de', which the encoder 'encoder' does not know" in caplog.text) is warned


@pytest.fixture
def german(tmp_path):
    url = str(tmp_path / "german")
    with create_store(url, "de") as store:
        store.add([Passage("d", "Die Donau mündet ins Schwarze Meer.")])
    return url


def test_the_default_encoder_is_that_of_the_language(german, collection, model, encoder_of_german, caplog):
    assert default_encoder(german) is None
    assert "'encoder' does not know: its passages are ranked by words alone. convqa models get" in caplog.text
    install("multilingual", encoder_of_german)
    made = default_encoder(german)
    assert made.name == "multilingual" and made.family != model.family
    assert default_encoder(collection) is model
    caplog.clear()
    install("multilingual", encoder_of_german)
    with create_store(german, "ja", replace=True) as store:
        store.add([Passage("j", "漢字")])
    assert default_encoder(german) is None and "does not know" in caplog.text


def test_new_passages_get_vectors_of_the_encoder_of_the_others(collection):
    add_vectors(collection, load_encoder("encoder?passage=passage: "))
    assert default_encoder(collection).name == "encoder?passage=passage: "


def test_without_the_encoder_of_the_others_new_passages_get_no_vectors(german, encoder_of_german, caplog):
    install("multilingual", encoder_of_german)
    add_vectors(german, load_encoder("multilingual"))
    shutil.rmtree(installed("multilingual"))
    assert default_encoder(german) is None and "convqa models get multilingual" in caplog.text


IDS = [passage.id for passage in PASSAGES]


def made(url):
    """The vectors of a collection."""
    return [vector.tobytes() for vector in open_store(url).vectors(IDS)]


@pytest.fixture
def whole(tmp_path, model):
    """The same collection, encoded at once."""
    url = str(tmp_path / "whole")
    with create_store(url, "en") as store:
        store.add(PASSAGES)
    add_vectors(url, model)
    return url


def test_workers_make_the_same_vectors(collection, whole, model, monkeypatch):
    monkeypatch.setattr(vectors, "_PASSAGES_PER_BATCH", 2)
    with start_workers("processes", 2) as workers:
        info = add_vectors(collection, model, None, workers)
    assert info.vectors == 9 and made(collection) == made(whole)
