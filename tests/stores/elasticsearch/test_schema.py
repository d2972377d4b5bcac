"""What an index of convqa says about itself, and the digests that a server can sum."""

from __future__ import annotations

from dataclasses import replace

import pytest

from convqa.errors import InputError, StoreDamaged
from convqa.stores.base import Encoder, VectorOptions
from convqa.stores.elasticsearch.schema import (
    Meta,
    VectorMeta,
    document_id,
    index_mappings,
    index_settings,
)

VECTORS = VectorMeta(Encoder("e", "c", 3), VectorOptions("int8", "hnsw"), 7, 2)
META = Meta("de", "convqa-de-1", 3, "ab" * 16, vectors=VECTORS)


def test_what_an_index_says_comes_back_as_it_was():
    for meta in (META, replace(META, vectors=None)):
        assert Meta.of({**meta.to_json(), "more": 1}, "x") == meta


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "index x was not made by convqa"),
        ({"version": 1}, r"index x has format 1; this version of convqa reads 3.*--replace"),
        ({"version": 4}, "has format 4"),
    ],
)
def test_other_formats_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        Meta.of({**META.to_json(), **change}, "x")


def test_what_lacks_something_is_damaged():
    data = META.to_json()
    del data["language"]
    with pytest.raises(StoreDamaged, match=r"index x: _meta: language: .*Index its passages again"):
        Meta.of(data, "x")
    with pytest.raises(StoreDamaged, match="dimension"):
        Meta.of({**META.to_json(), "vectors": {**data["vectors"], "encoder": {"name": "e", "checksum": "c"}}}, "x")


def test_ids_of_any_length_become_32_digits():
    assert len(document_id("é" * 5000)) == len(document_id("")) == 32
    assert document_id("a") != document_id("b")


def test_an_index_keeps_the_similarity_and_what_it_says_of_itself():
    made = index_settings(3, 0.9, 0.4)
    assert made["similarity"]["default"] == {"type": "BM25", "k1": 0.9, "b": 0.4}
    assert made["number_of_shards"] == 3
    assert index_mappings(META)["_meta"] == META.to_json()
