"""What a store promises that keeps vectors, as its capability ``vectors`` says."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from convqa.domain import Passage
from convqa.errors import InputError
from convqa.stores import create_store
from convqa.stores.base import Encoder, Filter, Floats, Store
from convqa.testing.samples import PASSAGES, WEIRD_ID, ids, needs, reopen

ENCODER = Encoder("by hand", "c" * 64, 4)
VECTORS = {
    "p1": (1.0, 0.0, 0.0, 0.0),
    "p2": (0.6, 0.8, 0.0, 0.0),
    "p3": (0.0, 1.0, 0.0, 0.0),
    "p4": (0.0, 1.0, 0.0, 0.0),
    WEIRD_ID: (-2.0, 0.0, 0.0, 0.5),
}
"""By inner product; one is longer than 1, and "stop" has none."""
X = (1.0, 0.0, 0.0, 0.0)
Y = (0.0, 1.0, 0.0, 0.0)


def matrix(*rows: Sequence[float]) -> Floats:
    return np.array(rows, np.float32)


def near(
    store: Store, *queries: Sequence[float], k: int = 10, texts: int = 20, accepted: Filter | None = None
) -> list[list[tuple[str, Any]]]:
    """Return id and score of the nearest passages of each query."""
    return [
        [(hit.id, pytest.approx(hit.score, rel=1e-5, abs=1e-6)) for hit in ranking.hits]
        for ranking in store.search_vectors(matrix(*queries), k, ENCODER, texts, accepted)
    ]


class VectorContract:
    """A part of :class:`convqa.testing.StoreContract`."""

    @pytest.fixture
    def semantic(self, url: str) -> Iterator[Any]:
        """A store of ``PASSAGES`` with ``VECTORS``."""
        with create_store(url, "en") as made:
            needs(made, "vectors")
            made.add(PASSAGES)
            made.add_vectors(list(VECTORS), matrix(*VECTORS.values()), ENCODER)
        store = reopen(url)
        yield store
        store.close()

    def test_vectors_are_told(self, semantic: Any) -> None:
        info = semantic.info()
        assert (info.encoder, info.vectors, info.count) == (ENCODER, 5, 6)

    def test_vectors_rank_by_inner_product_and_passages_without_one_are_no_hits(self, semantic: Any) -> None:
        assert near(semantic, X, Y, (-1.0, -1.0, 0.0, 2.0)) == [
            [("p1", 1.0), ("p2", 0.6), ("p4", 0.0), ("p3", 0.0), (WEIRD_ID, -2.0)],
            [("p4", 1.0), ("p3", 1.0), ("p2", 0.8), ("p1", 0.0), (WEIRD_ID, 0.0)],
            [(WEIRD_ID, 3.0), ("p4", -1.0), ("p3", -1.0), ("p1", -1.0), ("p2", -1.4)],
        ]

    def test_ties_of_vectors_at_the_cut_go_to_the_highest_id(self, semantic: Any) -> None:
        assert near(semantic, Y, k=1) == [[("p4", 1.0)]]
        assert semantic.search_vectors(matrix(X), 0, ENCODER)[0].hits == ()
        assert semantic.search_vectors(np.empty((0, 4), np.float32), 5, ENCODER) == []

    def test_the_nearest_of_what_a_filter_lets_through_are_found_with_their_own_scores(self, semantic: Any) -> None:
        needs(semantic, "filter")
        cases: list[tuple[Filter, list[tuple[str, float]]]] = [
            ({"kind": ("bridge",)}, [("p4", 0.0), ("p3", 0.0)]),
            ({"year": (2001.0, 2002)}, [("p1", 1.0), ("p2", 0.6), ("p3", 0.0)]),
            ({"year": (2001, 2003), "kind": ("bridge", "cheese")}, [("p4", 0.0), ("p3", 0.0)]),
            ({"old": (True,)}, [("p2", 0.6)]),
            ({"old": (1,)}, []),
            ({"nothing": (1,)}, []),
            ({"kind": ()}, []),
            ({}, [("p1", 1.0), ("p2", 0.6), ("p4", 0.0), ("p3", 0.0), (WEIRD_ID, -2.0)]),
        ]
        for accepted, expected in cases:
            assert near(semantic, X, X, accepted=accepted) == [expected] * 2, accepted
            assert near(semantic, X, k=1, accepted=accepted) == [expected[:1]], accepted

    def test_filters_know_the_vectors_that_came_later_and_those_that_went(self, semantic: Any, url: str) -> None:
        needs(semantic, "filter")
        bridges: Filter = {"kind": ("bridge",)}
        assert len(near(semantic, Y, accepted=bridges)[0]) == 2
        semantic.add([Passage("p9", "A bridge", meta={"kind": "bridge", "a.b": 1})])
        semantic.add_vectors(["p9", "p3"], matrix(X, (0.0, 3.0, 0.0, 0.0)), ENCODER)
        semantic.delete(["p4"])
        semantic.commit()
        for store in (semantic, reopen(url)):
            assert near(store, Y, accepted=bridges) == [[("p3", 3.0), ("p9", 0.0)]]
            assert near(store, Y, accepted={"a.b": (1,)}) == [[("p9", 0.0)]]

    def test_passages_are_attached_to_the_first_neighbors_only(self, semantic: Any) -> None:
        hits = semantic.search_vectors(matrix(Y), 10, ENCODER, texts=2)[0].hits
        assert [hit.passage for hit in hits] == [PASSAGES[3], PASSAGES[2], None, None, None]

    def test_a_querys_neighbors_do_not_depend_on_its_batch(self, url: str, semantic: Any) -> None:
        chance = np.random.default_rng(1)
        passages = [Passage(f"v{n:03}", f"vector {n}") for n in range(300)]
        encoder, made, asked = (
            Encoder("wide", "", 96),
            *(chance.standard_normal((n, 96), np.float32) for n in (300, 70)),
        )
        with create_store(url, "en", replace=True) as store:
            store.add(passages)
            store.add_vectors([passage.id for passage in passages], made, encoder)
        opened = reopen(url)
        together = opened.search_vectors(asked, 20, encoder, 0)
        scores = asked.astype(np.float64) @ made.astype(np.float64).T
        for row, ranking in zip(scores, together, strict=True):
            expected = row.argsort()[::-1][:20]
            assert [hit.id for hit in ranking.hits] == [passages[n].id for n in expected]
            assert [hit.score for hit in ranking.hits] == pytest.approx(row[expected].tolist(), rel=1e-5)
        for size in (1, 7, 64):
            parts = [opened.search_vectors(asked[n : n + size], 20, encoder, 0) for n in range(0, 70, size)]
            for alone, beside in zip([ranking for part in parts for ranking in part], together, strict=True):
                assert [hit.id for hit in alone.hits] == [hit.id for hit in beside.hits]
                assert [hit.score for hit in alone.hits] == pytest.approx([hit.score for hit in beside.hits], rel=1e-5)

    def test_vectors_come_later_too_and_passages_without_one_are_told(self, semantic: Any, url: str) -> None:
        before = semantic.info()
        assert [passage.id for passage in semantic.without_vectors()] == ["stop"]
        semantic.add([Passage("p9", "Paris")])
        semantic.add_vectors(["stop", "p9"], matrix((0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.5, 0.0)), ENCODER)
        assert len(near(semantic, X)[0]) == 5
        semantic.commit()
        opened = reopen(url)
        assert near(opened, (0.0, 0.0, 1.0, 0.0), k=2) == [[("stop", 1.0), ("p9", 0.5)]]
        assert list(opened.without_vectors()) == []
        assert (opened.info().vectors, opened.info().count) == (7, 7)
        opened.delete(["p9"])
        opened.commit()
        assert (opened.info().checksum, opened.info().vectors) == (before.checksum, 6)

    def test_a_later_vector_replaces_an_earlier_one(self, semantic: Any, url: str) -> None:
        semantic.add_vectors(["p1", "p2"], matrix(Y, Y), ENCODER)
        semantic.add_vectors(["p2"], matrix((0.0, 3.0, 0.0, 0.0)), ENCODER)
        semantic.commit()
        assert near(reopen(url), Y, k=4) == [[("p2", 3.0), ("p4", 1.0), ("p3", 1.0), ("p1", 1.0)]]
        assert reopen(url).info().vectors == 5

    def test_deleted_passages_lose_their_vectors(self, semantic: Any, url: str) -> None:
        semantic.delete(["p4"])
        semantic.commit()
        assert [id for id, _ in near(reopen(url), Y, k=2)[0]] == ["p3", "p2"]
        semantic.add([PASSAGES[3]])
        semantic.commit()
        assert [id for id, _ in near(reopen(url), Y, k=2)[0]] == ["p3", "p2"]
        assert {passage.id for passage in reopen(url).without_vectors()} == {"p4", "stop"}
        assert reopen(url).info().vectors == 4

    def test_vectors_of_another_kind_are_refused_and_nothing_stays(self, semantic: Any, url: str) -> None:
        before = semantic.info()
        for wanted, rows, encoder in (
            (["p1"], [X], Encoder("by hand", "d" * 64, 4)),
            (["p1"], [(1.0, 0.0)], Encoder("by hand", "c" * 64, 2)),
            (["p1", "nobody"], [X, Y], ENCODER),
            (["p1"], [X, Y], ENCODER),
            (["p1"], [(1.0, 0.0)], ENCODER),
            (["p1"], [(math.nan, 0.0, 0.0, 0.0)], ENCODER),
            (["p1"], [(0.0, math.inf, 0.0, 0.0)], ENCODER),
        ):
            with pytest.raises(InputError):
                semantic.add_vectors(wanted, matrix(*rows), encoder)
            semantic.commit()
            assert reopen(url).info() == before
            assert near(reopen(url), X, k=1) == [[("p1", 1.0)]]

    def test_queries_of_another_kind_are_refused(self, semantic: Any) -> None:
        for rows, encoder in (
            ([X], Encoder("another", "d" * 64, 4)),
            ([(1.0, 0.0)], ENCODER),
            ([X, (math.nan, 0.0, 0.0, 0.0)], ENCODER),
        ):
            with pytest.raises(InputError):
                semantic.search_vectors(matrix(*rows), 5, encoder)

    def test_a_collection_without_vectors_refuses_to_be_asked_for_them(self, store: Any) -> None:
        assert (store.info().encoder, store.info().vectors) == (None, 0)
        with pytest.raises(InputError, match="vectors"):
            store.search_vectors(matrix(X), 5, ENCODER)

    def test_vectors_are_given_back_as_they_are_kept(self, semantic: Any) -> None:
        asked = [WEIRD_ID, "p2", "stop", "nobody", "p2", "\ud800"]
        kept = semantic.vectors(asked)
        assert [row is None for row in kept] == [False, False, True, True, False, True]
        assert [row.dtype for row in kept if row is not None] == [np.float32] * 3
        assert kept[0].tolist() == [-2.0, 0.0, 0.0, 0.5]
        assert kept[1].tolist() == kept[4].tolist() == pytest.approx([0.6, 0.8, 0.0, 0.0], rel=1e-6)
        assert semantic.vectors([]) == []

    def test_the_vector_that_is_given_back_is_the_last_one(self, semantic: Any, url: str) -> None:
        semantic.add_vectors(["p1"], matrix(Y), ENCODER)
        semantic.delete(["p2"])
        semantic.commit()
        first, second = reopen(url).vectors(["p1", "p2"])
        assert (first.tolist(), second) == (list(Y), None)

    def test_a_collection_without_vectors_gives_none_back(self, store: Any) -> None:
        needs(store, "vectors")
        assert store.vectors(["p1", "nobody"]) == [None, None]

    def test_vectors_do_not_change_what_words_find(self, semantic: Any) -> None:
        assert ids(semantic, "bridges of London") == ["p4", "p3", "p1"]
