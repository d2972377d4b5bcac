"""Token weights in every engine that keeps them: what is ranked, over commits, deletions and filters."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from convqa.domain import Passage
from convqa.errors import InputError
from convqa.stores import create_store, open_store
from convqa.stores.base import Encoder, VectorOptions
from convqa.text.analysis import MOST_TOKENS
from tests.contracts.test_stores import pytest_generate_tests, url

__all__ = ["pytest_generate_tests", "url"]

MODEL = Encoder("splade", "abc", 40, sparse=True)
COUNT = 30
RANDOM = np.random.default_rng(7)
WEIGHTS = np.where(RANDOM.random((COUNT, 40)) < 0.2, RANDOM.gamma(1.0, 1.0, (COUNT, 40)), 0).astype(np.float32)
QUERIES = np.where(RANDOM.random((5, 40)) < 0.2, 1.0, 0).astype(np.float32)
IDS = [f"p{number}" for number in range(COUNT)]


@pytest.fixture
def store(url):
    with create_store(url, "en") as made:
        if "sparse" not in made.info().capabilities:
            pytest.skip("this engine keeps no token weights")
        made.add(Passage(id, f"text {id}", meta={"even": str(number % 2 == 0)}) for number, id in enumerate(IDS))
    opened = open_store(url)
    yield opened
    opened.close()


@pytest.fixture
def weighed(store):
    """In three commits, the last with two calls."""
    for first, last in ((0, 10), (10, 20), (20, 30)):
        store.add_vectors(IDS[first : first + 5], WEIGHTS[first : first + 5], MODEL)
        store.add_vectors(IDS[first + 5 : last], WEIGHTS[first + 5 : last], MODEL)
        store.commit()
    return store


def kept(weights):
    """Weights in the precision of the store."""
    return ((weights.view(np.uint32) >> 15) << 15).view(np.float32)


def expected(query, weights, k, ids=IDS):
    scores = (kept(weights).astype(np.float64) @ query.astype(np.float64)).astype(np.float32)
    ranked = sorted(((score, id) for score, id in zip(scores.tolist(), ids, strict=True) if score > 0), reverse=True)
    return [(id, pytest.approx(score, rel=1e-6)) for score, id in ranked[:k]]


def listed(ranking):
    return [(hit.id, hit.score) for hit in ranking.hits]


@pytest.mark.parametrize("k", [1, 7, 100])
def test_rankings_are_inner_products(weighed, k):
    for query, ranking in zip(QUERIES, weighed.search_vectors(QUERIES, k, MODEL), strict=True):
        assert listed(ranking) == expected(query, WEIGHTS, k)
        assert listed(weighed.search_vectors(query[None], k, MODEL)[0]) == listed(ranking)
    info = weighed.info()
    assert (info.encoder, info.vectors) == (MODEL, COUNT)


def test_the_precision_is_a_256th():
    assert np.abs(kept(WEIGHTS) - WEIGHTS).max() <= WEIGHTS.max() / 256


def test_ties_are_ranked_by_id_descending_and_passages_are_attached(store):
    store.add_vectors(IDS, np.ones((COUNT, 40), np.float32), MODEL)
    store.commit()
    (ranking,) = store.search_vectors(QUERIES[:1], 4, MODEL, texts=1)
    assert [hit.id for hit in ranking.hits] == sorted(IDS, reverse=True)[:4]
    assert [hit.passage is not None for hit in ranking.hits] == [True, False, False, False]


def test_no_shared_token_no_hit(weighed):
    (ranking,) = weighed.search_vectors(np.zeros((1, 40), np.float32), 10, MODEL)
    assert ranking.hits == ()


def test_filters(weighed):
    (ranking,) = weighed.search_vectors(QUERIES[:1], 50, MODEL, filter={"even": ("True",)})
    assert listed(ranking) == expected(QUERIES[0], WEIGHTS[::2], 50, IDS[::2])


def test_deleted_passages_and_later_weights(weighed, url):
    weighed.delete(["p3"])
    weighed.add_vectors(["p4"], 3 * WEIGHTS[5:6], MODEL)
    weighed.commit()
    changed = WEIGHTS.copy()
    changed[3], changed[4] = 0, 3 * WEIGHTS[5]
    for store in (weighed, open_store(url)):
        assert store.info().vectors == COUNT - 1
        for query, ranking in zip(QUERIES, store.search_vectors(QUERIES, 50, MODEL), strict=True):
            assert listed(ranking) == expected(query, changed, 50)
    assert list(weighed.without_vectors()) == []


def test_weights_are_given_by_passage_as_they_are_kept(weighed):
    wanted = ["p7", "unknown", "p25", "p7"]
    found = weighed.vectors(wanted)
    assert found[1] is None and found[0].dtype == np.float32
    for place, number in ((0, 7), (2, 25), (3, 7)):
        assert np.array_equal(found[place], kept(WEIGHTS[number]))


def test_what_was_not_committed_is_dropped(weighed, url):
    weighed.add_vectors(["p0"], WEIGHTS[1:2], MODEL)
    weighed.close()
    store = open_store(url)
    assert listed(store.search_vectors(QUERIES, 50, MODEL)[0]) == expected(QUERIES[0], WEIGHTS, 50)
    store.add([Passage("new", "text")])
    store.commit()
    assert [passage.id for passage in store.without_vectors()] == ["new"]


def test_others_are_refused(weighed):
    for other in (Encoder("other", "def", 40, sparse=True), Encoder("dense", "abc", 40)):
        with pytest.raises(InputError, match="has vectors of 'splade'"):
            weighed.add_vectors(IDS[:1], WEIGHTS[:1], other)
        with pytest.raises(InputError, match="has vectors of 'splade'"):
            weighed.search_vectors(QUERIES, 5, other)


def test_options_are_refused(store):
    with pytest.raises(InputError, match="have no vector options"):
        store.add_vectors(IDS, WEIGHTS, MODEL, VectorOptions("int8"))


def test_no_token_is_pruned_however_light_or_frequent(url):
    """By default Elasticsearch leaves light tokens out, and those that most passages have."""
    weights = np.zeros((300, 40), np.float32)
    weights[:, 0], weights[:, 1] = 1.0, np.linspace(0.01, 0.5, 300)
    weights[range(2, 40), range(2, 40)] = 0.001
    query = np.zeros((1, 40), np.float32)
    query[0, :4] = 0.001, 0.3, 0.002, 9.0
    with create_store(url, "en") as made:
        ids = [f"q{number:03}" for number in range(300)]
        made.add(Passage(id, "text") for id in ids)
        made.add_vectors(ids, weights, MODEL)
    (ranking,) = open_store(url).search_vectors(query, 300, MODEL)
    assert listed(ranking) == expected(query[0], weights, 300, ids)


def test_the_smallest_and_the_largest_weights_are_kept(store):
    weights = np.zeros((3, 40), np.float32)
    weights[0, 39], weights[1, 0] = 1.2e-38, 9e17
    store.add_vectors(IDS[:3], weights, MODEL)
    store.commit()
    assert store.info().vectors == 3
    assert all(map(np.array_equal, store.vectors(IDS[:3]), kept(weights)))
    rows = np.zeros((2, 40), np.float32)
    rows[[0, 1], [39, 0]] = 1.0, 10.0
    first, second = store.search_vectors(rows, 10, MODEL)
    assert listed(first) == [("p0", pytest.approx(1.2e-38, rel=0.01))]
    assert listed(second) == [("p1", pytest.approx(9e18, rel=0.01))]


def test_a_query_of_very_many_tokens_is_answered(store, caplog):
    encoder = Encoder("wide", "abc", MOST_TOKENS + 50, sparse=True)
    weights = np.zeros((2, encoder.dimension), np.float32)
    weights[[0, 1], [0, -1]] = 1.0
    store.add_vectors(IDS[:2], weights, encoder)
    store.commit()
    query = np.linspace(1, 2, encoder.dimension, dtype=np.float32)
    with caplog.at_level(logging.WARNING):
        (ranking,) = store.search_vectors(query[None], 1, encoder)
    assert listed(ranking) == [("p1", 2.0)]


def test_vectors_and_weights_do_not_mix(store):
    store.add_vectors(IDS[:1], np.ones((1, 40), np.float32), Encoder("dense", "abc", 40))
    with pytest.raises(InputError, match="has vectors of 'dense'"):
        store.add_vectors(IDS[:1], WEIGHTS[:1], MODEL)
