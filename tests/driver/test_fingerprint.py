"""What a fingerprint covers."""

from __future__ import annotations

import numpy as np

from convqa.components.rewriters.copy import Copy
from convqa.domain import Passage
from convqa.driver import fingerprint as module
from convqa.driver.fingerprint import differences, fingerprint
from convqa.pipeline.load import load
from convqa.stores import create_store, open_store
from convqa.stores.base import Encoder, Info, VectorOptions


def made(url):
    pipeline = load("copy-bm25")
    pipeline.bind(url)
    return fingerprint("qrecc", "", pipeline, "own", 256, None)


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
        "encoder": {"name": "small", "checksum": "c" * 64, "dimension": 2, "sparse": False},
        "vectors": 2,
        "vector_options": {"precision": "float32", "index": "auto"},
    }


def test_how_vectors_are_kept_is_part_of_it(tmp_path):
    entries = []
    for number, options in enumerate((None, VectorOptions("int8"), VectorOptions(index="exact"))):
        url = str(tmp_path / str(number))
        with create_store(url, "en") as store:
            store.add([Passage("a", "one")])
            store.add_vectors(["a"], np.ones((1, 2), np.float32), Encoder("small", "c" * 64, 2), options)
        entries.append(made(url))
    assert [differences(entries[0], other) for other in entries] == [[], ["collection"], ["collection"]]


def test_k1_and_b_are_part_of_it_where_the_index_fixes_them(monkeypatch):
    entries = []
    for k1, b in ((None, None), (0.82, 0.68), (2.0, 0.68), (0.82, 0.1)):
        info = Info("elasticsearch", 2, "en", "convqa-en-1", ("title", "text"), "0" * 32, k1=k1, b=b)
        # As one of convqa's own: the code of another package's is read, and that of all tests takes seconds.
        store = type("Store", (), {"info": lambda self, info=info: info, "__module__": "convqa.stores"})
        monkeypatch.setattr(module, "open_store", lambda url, store=store: store())
        entries.append(made("elasticsearch://host/docs"))
    assert [differences(entries[1], other) for other in entries] == [["collection"], [], ["collection"], ["collection"]]
    assert "k1" not in entries[0]["collection"]
    assert (entries[1]["collection"]["k1"], entries[1]["collection"]["b"]) == (0.82, 0.68)


def test_the_models_of_its_stations_are_part_of_it(monkeypatch):
    pipeline = load("copy-bm25")
    assert fingerprint("qrecc", "", pipeline, "own", 256, None)["models"] == {}
    monkeypatch.setattr(Copy, "identity", lambda self: {"encoder": "c" * 32})
    entry = fingerprint("qrecc", "", pipeline, "own", 256, None)
    assert entry["models"] == {"rewriter": {"encoder": "c" * 32}}
    # How a model runs is said there, by each for itself.
    assert not {"device", "precision"} & set(entry)


def test_torch_and_transformers_count_where_a_model_runs_on_torch(monkeypatch):
    monkeypatch.setattr(module.metadata, "version", lambda name: f"{name} 1")
    pipeline = load("copy-bm25")
    libraries = {}
    for runs in ("onnx int8 on cpu", "torch float32 on cpu"):
        monkeypatch.setattr(Copy, "identity", lambda self, runs=runs: {"encoder": f"{'c' * 32} ({runs})"})
        libraries[runs] = set(fingerprint("qrecc", "", pipeline, "own", 256, None)["libraries"])
    onnx, torch = libraries.values()
    assert "onnxruntime" in onnx and torch - onnx == {"torch", "transformers"}


def test_the_code_of_another_packages_store_is_part_of_it(installed, tmp_path, root):
    source = (root / "tests" / "fixtures" / "outside" / "outside" / "store.py").read_text()
    folder = installed(
        "store_for_test", "convqa.stores", "edited = store_for_test", source.replace("shelf:", "edited:")
    )
    with create_store(f"edited:{tmp_path / 'collection'}", "en") as store:
        store.add([Passage("a", "one")])
    before = made(f"edited:{tmp_path / 'collection'}")
    assert list(before["code"]) == ["store_for_test.Shelf"]
    (folder / "store_for_test.py").write_text(source + "\n# edited")
    after = made(f"edited:{tmp_path / 'collection'}")
    assert differences(before, after) == ["code of store_for_test.Shelf"]
