"""Token weights in a folder: their files."""

from __future__ import annotations

import numpy as np

from convqa.domain import Passage
from convqa.stores import check_store, create_store, delete_store
from convqa.stores.base import Encoder


def test_damage_is_found_and_all_files_go(tmp_path):
    folder = tmp_path / "c"
    with create_store(str(folder), "en") as made:
        made.add([Passage("p1", "text")])
        made.add_vectors(["p1"], np.ones((1, 40), np.float32), Encoder("splade", "abc", 40, sparse=True))
    assert check_store(str(folder)).problems == ()
    (starts,) = folder.glob("data-*/vectors.lists.starts.1")
    starts.write_bytes(b"x" * starts.stat().st_size)
    assert "vectors.lists.starts.1" in check_store(str(folder)).problems[0]
    delete_store(str(folder))
    assert not folder.exists()
