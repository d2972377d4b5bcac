"""What a store promises that keeps token weights of a sparse encoder, as its capability ``sparse`` says."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from convqa.domain import Passage, Ranking
from convqa.errors import InputError
from convqa.stores import create_store
from convqa.stores.base import Encoder, Floats, VectorOptions
from convqa.testing.samples import needs, reopen
from convqa.text.analysis import MOST_TOKENS

MODEL = Encoder("splade", "abc", 40, sparse=True)
COUNT = 30
RANDOM = np.random.default_rng(7)
WEIGHTS = np.where(RANDOM.random((COUNT, 40)) < 0.2, RANDOM.gamma(1.0, 1.0, (COUNT, 40)), 0).astype(np.float32)
QUERIES = np.where(RANDOM.random((5, 40)) < 0.2, 1.0, 0).astype(np.float32)
IDS = [f"p{number}" for number in range(COUNT)]


def kept(weights: Floats) -> Floats:
    """Return weights in the precision of stores, a 256th: those of Lucene's features."""
    return ((weights.view(np.uint32) >> 15) << 15).view(np.float32)


def expected(query: Floats, weights: Floats, k: int, ids: Sequence[str] = IDS) -> list[tuple[str, Any]]:
    """Return id and score of the best passages, computed by hand."""
    scores = (kept(weights).astype(np.float64) @ query.astype(np.float64)).astype(np.float32)
    ranked = sorted(((score, id) for score, id in zip(scores.tolist(), ids, strict=True) if score > 0), reverse=True)
    return [(id, pytest.approx(score, rel=1e-6)) for score, id in ranked[:k]]


def listed(ranking: Ranking) -> list[tuple[str, Any]]:
    return [(hit.id, hit.score) for hit in ranking.hits]


class TokenWeightContract:
    """A part of :class:`convqa.testing.StoreContract`."""

    @pytest.fixture
    def sparse_store(self, url: str) -> Iterator[Any]:
        """A store of 30 passages, without weights yet."""
        with create_store(url, "en") as made:
            needs(made, "sparse")
            made.add(Passage(id, f"text {id}", meta={"even": str(number % 2 == 0)}) for number, id in enumerate(IDS))
        store = reopen(url)
        yield store
        store.close()

    @pytest.fixture
    def weighed(self, sparse_store: Any) -> Any:
        """The store with ``WEIGHTS``, added in three commits of two calls each."""
        for first, last in ((0, 10), (10, 20), (20, 30)):
            sparse_store.add_vectors(IDS[first : first + 5], WEIGHTS[first : first + 5], MODEL)
            sparse_store.add_vectors(IDS[first + 5 : last], WEIGHTS[first + 5 : last], MODEL)
            sparse_store.commit()
        return sparse_store

    @pytest.mark.parametrize("k", [1, 7, 100])
    def test_rankings_are_inner_products(self, weighed: Any, k: int) -> None:
        for query, ranking in zip(QUERIES, weighed.search_vectors(QUERIES, k, MODEL), strict=True):
            assert listed(ranking) == expected(query, WEIGHTS, k)
            assert listed(weighed.search_vectors(query[None], k, MODEL)[0]) == listed(ranking)
        info = weighed.info()
        assert (info.encoder, info.vectors) == (MODEL, COUNT)

    def test_ties_are_ranked_by_id_descending_and_passages_are_attached(self, sparse_store: Any) -> None:
        sparse_store.add_vectors(IDS, np.ones((COUNT, 40), np.float32), MODEL)
        sparse_store.commit()
        (ranking,) = sparse_store.search_vectors(QUERIES[:1], 4, MODEL, texts=1)
        assert [hit.id for hit in ranking.hits] == sorted(IDS, reverse=True)[:4]
        assert [hit.passage is not None for hit in ranking.hits] == [True, False, False, False]

    def test_no_shared_token_no_hit(self, weighed: Any) -> None:
        (ranking,) = weighed.search_vectors(np.zeros((1, 40), np.float32), 10, MODEL)
        assert ranking.hits == ()

    def test_filters_choose_among_the_weighed(self, weighed: Any) -> None:
        needs(weighed, "filter")
        (ranking,) = weighed.search_vectors(QUERIES[:1], 50, MODEL, filter={"even": ("True",)})
        assert listed(ranking) == expected(QUERIES[0], WEIGHTS[::2], 50, IDS[::2])

    def test_deleted_passages_and_later_weights(self, weighed: Any, url: str) -> None:
        weighed.delete(["p3"])
        weighed.add_vectors(["p4"], 3 * WEIGHTS[5:6], MODEL)
        weighed.commit()
        changed = WEIGHTS.copy()
        changed[3], changed[4] = 0, 3 * WEIGHTS[5]
        for sparse_store in (weighed, reopen(url)):
            assert sparse_store.info().vectors == COUNT - 1
            for query, ranking in zip(QUERIES, sparse_store.search_vectors(QUERIES, 50, MODEL), strict=True):
                assert listed(ranking) == expected(query, changed, 50)
        assert list(weighed.without_vectors()) == []

    def test_weights_are_given_by_passage_as_they_are_kept(self, weighed: Any) -> None:
        wanted = ["p7", "unknown", "p25", "p7"]
        found = weighed.vectors(wanted)
        assert found[1] is None and found[0].dtype == np.float32
        for place, number in ((0, 7), (2, 25), (3, 7)):
            assert np.array_equal(found[place], kept(WEIGHTS[number]))

    def test_what_was_not_committed_is_dropped(self, weighed: Any, url: str) -> None:
        weighed.add_vectors(["p0"], WEIGHTS[1:2], MODEL)
        weighed.close()
        sparse_store = reopen(url)
        assert listed(sparse_store.search_vectors(QUERIES, 50, MODEL)[0]) == expected(QUERIES[0], WEIGHTS, 50)
        sparse_store.add([Passage("new", "text")])
        sparse_store.commit()
        assert [passage.id for passage in sparse_store.without_vectors()] == ["new"]

    def test_weights_of_another_encoder_are_refused(self, weighed: Any) -> None:
        for other in (Encoder("other", "def", 40, sparse=True), Encoder("dense", "abc", 40)):
            with pytest.raises(InputError, match="splade"):
                weighed.add_vectors(IDS[:1], WEIGHTS[:1], other)
            with pytest.raises(InputError, match="splade"):
                weighed.search_vectors(QUERIES, 5, other)

    def test_options_of_weights_are_refused(self, sparse_store: Any) -> None:
        with pytest.raises(InputError, match="options"):
            sparse_store.add_vectors(IDS, WEIGHTS, MODEL, VectorOptions("int8"))

    def test_no_token_is_pruned_however_light_or_frequent(self, url: str) -> None:
        """By default Elasticsearch leaves light tokens out, and those that most passages have."""
        weights = np.zeros((300, 40), np.float32)
        weights[:, 0], weights[:, 1] = 1.0, np.linspace(0.01, 0.5, 300)
        weights[range(2, 40), range(2, 40)] = 0.001
        query = np.zeros((1, 40), np.float32)
        query[0, :4] = 0.001, 0.3, 0.002, 9.0
        with create_store(url, "en") as made:
            needs(made, "sparse")
            ids = [f"q{number:03}" for number in range(300)]
            made.add(Passage(id, "text") for id in ids)
            made.add_vectors(ids, weights, MODEL)
        (ranking,) = reopen(url).search_vectors(query, 300, MODEL)
        assert listed(ranking) == expected(query[0], weights, 300, ids)

    def test_the_smallest_and_the_largest_weights_are_kept(self, sparse_store: Any) -> None:
        weights = np.zeros((3, 40), np.float32)
        weights[0, 39], weights[1, 0] = 1.2e-38, 9e17
        sparse_store.add_vectors(IDS[:3], weights, MODEL)
        sparse_store.commit()
        assert sparse_store.info().vectors == 3
        assert all(map(np.array_equal, sparse_store.vectors(IDS[:3]), kept(weights)))
        rows = np.zeros((2, 40), np.float32)
        rows[[0, 1], [39, 0]] = 1.0, 10.0
        first, second = sparse_store.search_vectors(rows, 10, MODEL)
        assert listed(first) == [("p0", pytest.approx(1.2e-38, rel=0.01))]
        assert listed(second) == [("p1", pytest.approx(9e18, rel=0.01))]

    def test_a_query_of_very_many_tokens_is_answered(self, sparse_store: Any, caplog: pytest.LogCaptureFixture) -> None:
        encoder = Encoder("wide", "abc", MOST_TOKENS + 50, sparse=True)
        weights = np.zeros((2, encoder.dimension), np.float32)
        weights[[0, 1], [0, -1]] = 1.0
        sparse_store.add_vectors(IDS[:2], weights, encoder)
        sparse_store.commit()
        query = np.linspace(1, 2, encoder.dimension, dtype=np.float32)
        with caplog.at_level(logging.WARNING):
            (ranking,) = sparse_store.search_vectors(query[None], 1, encoder)
        assert listed(ranking) == [("p1", 2.0)]

    def test_vectors_and_weights_do_not_mix(self, sparse_store: Any) -> None:
        sparse_store.add_vectors(IDS[:1], np.ones((1, 40), np.float32), Encoder("dense", "abc", 40))
        with pytest.raises(InputError, match="dense"):
            sparse_store.add_vectors(IDS[:1], WEIGHTS[:1], MODEL)
