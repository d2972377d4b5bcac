"""Exact scores on one shard and several, ties, and vectors."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from convqa.domain import Passage, Query
from convqa.errors import InputError
from convqa.stores import create_store, delete_store, open_store
from convqa.stores.base import Encoder, SearchParams
from convqa.stores.elasticsearch.index import ServerIndex

DEFAULT = SearchParams()


WORDS = [f"w{number}" for number in range(300)]
CHANCE = random.Random(5)
PASSAGES = [Passage(f"p{number:04}", " ".join(CHANCE.choices(WORDS, k=CHANCE.randint(1, 90)))) for number in range(400)]
QUERIES = [
    Query(" ".join(CHANCE.choices(WORDS, k=5)), tuple((word, CHANCE.random()) for word in CHANCE.choices(WORDS, k=4)))
    for _ in range(50)
]


@pytest.fixture(scope="module", params=[1, 3], ids=["one shard", "three shards"])
def store(request, elasticsearch):
    url = f"{elasticsearch}/search-{request.param}-{CHANCE.randrange(10**9)}"
    with create_store(url, "en", settings={"shards": request.param}) as made:
        made.add(PASSAGES)
    yield open_store(url)
    delete_store(url)


@pytest.mark.services
def test_scores_and_order_are_those_of_the_embedded_store(store, tmp_path):
    with create_store(str(tmp_path / "c"), "en") as made:
        made.add(PASSAGES)
    expected = open_store(str(tmp_path / "c")).search(QUERIES, 100, DEFAULT)
    found = store.search(QUERIES, 100, DEFAULT)
    for ours, theirs in zip(expected, found, strict=True):
        assert [hit.score for hit in theirs.hits] == pytest.approx([hit.score for hit in ours.hits], rel=2e-6)
        same = sum(one.id == other.id for one, other in zip(ours.hits, theirs.hits, strict=True))
        assert same >= len(ours.hits) - 4
        assert [hit.passage for hit in theirs.hits[:20]] == [PASSAGES[int(hit.id[1:])] for hit in theirs.hits[:20]]
        assert all(hit.passage is None for hit in theirs.hits[20:])


@pytest.mark.services
def test_as_many_words_as_a_query_may_have_are_searched(store, caplog):
    many = Query(" ".join(f"x{number}" for number in range(1023)) + " w1")
    assert store.search([many], 1, DEFAULT)[0].hits == store.search([Query("w1")], 1, DEFAULT)[0].hits
    chosen = SearchParams(filter={"year": (1,)})
    assert store.search([many], 1, chosen)[0].hits == ()
    assert caplog.records == []


@pytest.mark.services
def test_depths_at_the_edges(store):
    query = Query(" ".join(WORDS))
    assert [ranking.hits for ranking in store.search([query, query], 0, DEFAULT)] == [(), ()]
    assert len(store.search([query], 9_990, DEFAULT)[0].hits) == 400
    assert store.search([], 10, DEFAULT) == []
    with pytest.raises(InputError, match="top_k 10001: Elasticsearch gives at most 10000"):
        store.search([query], 10_001, DEFAULT)


@pytest.mark.services
def test_ties_beyond_the_spare_hits_are_settled_by_id_and_asked_for_apart(index_url, monkeypatch):
    with create_store(index_url, "en", settings={"shards": 2}) as made:
        made.add(Passage(f"p{number:03}", "equal words" if number % 2 else f"word{number}") for number in range(300))
    opened = open_store(index_url)
    bodies = []
    ask = ServerIndex.search

    def noting(self, asked):
        bodies.extend(asked)
        return ask(self, asked)

    monkeypatch.setattr(ServerIndex, "search", noting)
    found = opened.search([Query("equal"), Query("word4"), Query("equal words")], 3, DEFAULT)
    assert [[hit.id for hit in ranking.hits] for ranking in found] == [
        ["p299", "p297", "p295"],
        ["p004"],
        ["p299", "p297", "p295"],
    ]
    assert Counter("sort" in body for body in bodies) == {False: 3, True: 2}
    delete_store(index_url)


@pytest.mark.services
def test_neighbors_have_exact_inner_products(index_url):
    chance, encoder = np.random.default_rng(3), Encoder("e", "c", 64)
    rows, queries = (chance.standard_normal((number, 64), np.float32) for number in (500, 40))
    passages = [Passage(f"v{number}", "a text", meta={"even": number % 2 == 0}) for number in range(500)]
    with create_store(index_url, "en") as made:
        made.add(passages)
        made.add_vectors([passage.id for passage in passages], rows, encoder)
    exact = queries.astype(float) @ rows.T.astype(float)
    for accepted, excluded in ((None, []), ({"even": (True,)}, range(1, 500, 2))):
        found = open_store(index_url).search_vectors(queries, 10, encoder, 1, accepted)
        exact[:, excluded] = -np.inf
        kept = 0
        for scores, ranking in zip(exact, found, strict=True):
            assert len(ranking.hits) == 10
            for hit in ranking.hits:
                assert hit.score == pytest.approx(scores[int(hit.id[1:])], rel=1e-5, abs=1e-5)
            kept += len({f"v{number}" for number in scores.argsort()[-10:]} & {hit.id for hit in ranking.hits})
            assert [hit.passage is None for hit in ranking.hits] == [False] + [True] * 9
        assert kept >= 0.95 * 400
    delete_store(index_url)
