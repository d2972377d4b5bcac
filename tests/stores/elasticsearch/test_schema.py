"""What an index of convqa says about itself, and the digests that a server can sum."""

from __future__ import annotations

from dataclasses import replace

import pytest

from convqa.errors import InputError, StoreDamaged
from convqa.stores.base import Encoder
from convqa.stores.elasticsearch.schema import (
    Meta,
    VectorMeta,
    Version,
)

VECTORS = VectorMeta(Encoder("e", "c", 3), 7, 2)
META = Meta("de", "convqa-de-2", 3, "ab" * 16, vectors=VECTORS)


def read(meta):
    settings = {
        "number_of_shards": "3",
        "number_of_replicas": "1",
        "similarity": {"default": {"k1": "0.9", "b": "0.4"}},
    }
    return Version.of("x", {"mappings": {"_meta": meta}, "settings": {"index": settings}})


def test_the_record_of_an_index_is_read():
    for meta in (META, replace(META, vectors=None)):
        assert read({**meta.to_json(), "more": 1}) == Version("x", meta, 3, 1, 0.9, 0.4)
    assert (read(META.to_json()).stamp, read(replace(META, vectors=None).to_json()).stamp) == (("x", 2), ("x", 0))


@pytest.mark.parametrize("version", [1, 5])
def test_other_formats_are_refused(version):
    with pytest.raises(InputError, match=rf"index x has format {version};.*--replace"):
        read({**META.to_json(), "version": version})


def test_malformed_metadata_is_damaged():
    data = META.to_json()
    with pytest.raises(StoreDamaged, match=r"index x: _meta: language: "):
        read({name: value for name, value in data.items() if name != "language"})
    with pytest.raises(StoreDamaged, match="dimension"):
        read({**data, "vectors": {**data["vectors"], "encoder": {"name": "e", "checksum": "c"}}})
