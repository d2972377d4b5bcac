"""The contract of stores, for every engine of ours."""

from __future__ import annotations

import uuid

import pytest

from convqa.stores import delete_store, exists, open_store
from convqa.testing import PASSAGES, ReadOnlyStoreContract, StoreContract


class TestFolder(StoreContract):
    @pytest.fixture
    def url(self, tmp_path):
        return str(tmp_path / "collection")


class TestElasticsearch(StoreContract):
    @pytest.fixture
    def url(self, elasticsearch):
        url = f"{elasticsearch}/t-{uuid.uuid4().hex[:12]}"
        yield url
        if exists(url):
            delete_store(url)


class TestAnserini(ReadOnlyStoreContract):
    @pytest.fixture
    def store(self, anserini_index, tmp_path):
        records = [{**passage.to_json(), "contents": passage.text} for passage in PASSAGES]
        opened = open_store(f"anserini:{anserini_index(records, folder=tmp_path / 'index')}")
        yield opened
        opened.close()
