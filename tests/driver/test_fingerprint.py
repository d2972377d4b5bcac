"""What a fingerprint covers."""

from __future__ import annotations

import numpy as np

from convqa.domain import Passage
from convqa.driver.fingerprint import differences, fingerprint
from convqa.pipeline.load import load
from convqa.stores import create_store, open_store
from convqa.stores.base import Encoder


def made(url):
    return fingerprint("qrecc", [], load("copy-bm25", collection=url), url, "own", 256, None)


def test_a_collections_vectors_are_part_of_it_where_there_are_any(tmp_path):
    url = str(tmp_path / "collection")
    with create_store(url, "en") as store:
        store.add([Passage("a", "one"), Passage("b", "two")])
    before = made(url)
    assert set(before["collection"]) == {"engine", "count", "checksum", "analyzer"}
    entries = []
    for id in ("a", "b"):
        store = open_store(url)
        store.add_vectors([id], np.ones((1, 2), np.float32), Encoder("small", "c" * 64, 2))
        store.commit()
        entries.append(made(url))
    assert differences(before, entries[0]) == differences(*entries) == ["collection"]
    assert entries[1]["collection"] == {
        **before["collection"],
        "encoder": {"name": "small", "checksum": "c" * 64, "dimension": 2},
        "vectors": 2,
    }
