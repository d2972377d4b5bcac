"""Searches that runs share: the same rankings, searched once."""

from __future__ import annotations

import numpy as np
import pytest

from convqa.components.sharing import opened
from convqa.domain import Passage, Query
from convqa.indexing import collection_of_passages
from convqa.models import shared
from convqa.models.shared import Shared
from convqa.stores import open_store
from convqa.stores.base import SearchParams

PASSAGES = [Passage(str(n), f"passage {n} of the {word}") for n, word in enumerate(["cat", "dog", "cat", "fox"])]


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    url = collection_of_passages(PASSAGES)
    plain = opened(url)
    assert plain is open_store(url)
    monkeypatch.setattr(shared, "_shared", Shared(tmp_path / "shared.sqlite", ""))
    return opened(url), plain


def test_rankings_are_those_of_the_store(store, monkeypatch):
    sharing, plain = store
    queries = [Query("cat"), Query("fox passage", (("dog", 0.5),)), Query("cat")]
    wanted = plain.search(queries, 3, SearchParams(), 2)
    assert sharing.search(queries, 3, SearchParams(), 2) == wanted
    monkeypatch.setattr(type(plain), "search", None)
    assert sharing.search(queries, 3, SearchParams(), 2) == wanted
    assert [hit.passage is not None for hit in wanted[0].hits] == [True, True]


def test_other_parameters_are_searched_anew(store):
    sharing, plain = store
    for k, params in ((3, SearchParams()), (1, SearchParams()), (3, SearchParams(k1=2.0))):
        assert sharing.search([Query("cat")], k, params) == plain.search([Query("cat")], k, params, 0)


def test_vectors_are_keys_by_their_bytes(store, monkeypatch):
    sharing, plain = store
    seen = []

    def search(self, matrix, k, encoder, texts, filter):
        seen.append(len(matrix))
        return [plain.search([Query("cat")], k, SearchParams(), texts)[0]] * len(matrix)

    monkeypatch.setattr(type(plain), "search_vectors", search)
    rows = np.eye(3, dtype=np.float32)
    sharing.search_vectors(rows[:2], 2, None)
    sharing.search_vectors(rows, 2, None)
    assert seen == [2, 1]
