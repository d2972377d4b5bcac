"""Token weights in a folder: what is ranked, over commits, deletions, filters and damage."""

from __future__ import annotations

import numpy as np
import pytest

from convqa.domain import Passage
from convqa.errors import InputError
from convqa.stores import check_store, create_store, delete_store, open_store
from convqa.stores.base import Encoder, VectorOptions

MODEL = Encoder("splade", "abc", 40, sparse=True)
COUNT = 30
RANDOM = np.random.default_rng(7)
WEIGHTS = np.where(RANDOM.random((COUNT, 40)) < 0.2, RANDOM.gamma(1.0, 1.0, (COUNT, 40)), 0).astype(np.float32)
QUERIES = np.where(RANDOM.random((5, 40)) < 0.2, 1.0, 0).astype(np.float32)
IDS = [f"p{number}" for number in range(COUNT)]


@pytest.fixture
def store(tmp_path):
    with create_store(str(tmp_path / "c"), "en") as made:
        made.add(Passage(id, f"text {id}", meta={"even": str(number % 2 == 0)}) for number, id in enumerate(IDS))
    return open_store(str(tmp_path / "c"))


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


def test_deleted_passages_and_later_weights(weighed, tmp_path):
    weighed.delete(["p3"])
    weighed.add_vectors(["p4"], 3 * WEIGHTS[5:6], MODEL)
    weighed.commit()
    changed = WEIGHTS.copy()
    changed[3], changed[4] = 0, 3 * WEIGHTS[5]
    for store in (weighed, open_store(str(tmp_path / "c"))):
        assert store.info().vectors == COUNT - 1
        for query, ranking in zip(QUERIES, store.search_vectors(QUERIES, 50, MODEL), strict=True):
            assert listed(ranking) == expected(query, changed, 50)
    assert list(weighed.without_vectors()) == []


def test_weights_are_given_by_passage_as_they_are_kept(weighed):
    wanted = ["p7", "unknown", "p25", "p7"]
    found = weighed.vectors(wanted)
    assert found[1] is None
    for place, number in ((0, 7), (2, 25), (3, 7)):
        assert np.array_equal(found[place], kept(WEIGHTS[number]))


def test_what_was_not_committed_is_dropped(weighed, tmp_path):
    weighed.add_vectors(["p0"], WEIGHTS[1:2], MODEL)
    weighed.close()
    store = open_store(str(tmp_path / "c"))
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


def test_damage_is_found_and_all_files_go(weighed, tmp_path):
    folder = tmp_path / "c"
    assert check_store(str(folder)).problems == ()
    weighed.close()
    (starts,) = folder.glob("data-*/vectors.starts")
    starts.write_bytes(b"x" * starts.stat().st_size)
    assert "vectors.starts" in check_store(str(folder)).problems[0]
    delete_store(str(folder))
    assert not folder.exists()
