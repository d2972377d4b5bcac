"""What a fingerprint covers."""

from __future__ import annotations

import importlib
import sys
import types

import numpy as np
import pytest

from convqa.components.rewriters.copy import Copy
from convqa.domain import Passage
from convqa.driver import fingerprint as module
from convqa.driver.fingerprint import classes_in, code_of, differences, fingerprint
from convqa.pipeline.load import load
from convqa.stores import create_store, open_store
from convqa.stores.base import Encoder, Info


def made(url):
    pipeline = load("copy-bm25")
    pipeline.bind(url)
    return fingerprint(pipeline, task="qrecc")


def test_a_collections_vectors_are_part_of_it_where_there_are_any(tmp_path):
    url = str(tmp_path / "collection")
    with create_store(url, "en") as store:
        store.add([Passage("a", "one"), Passage("b", "two")])
    before = made(url)
    assert set(before["collection"]) == {"engine", "count", "checksum", "analyzer", "vectors"}
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


def test_k1_and_b_are_part_of_it_where_the_index_fixes_them(monkeypatch):
    entries = []
    for k1, b in ((None, None), (0.82, 0.68), (2.0, 0.68), (0.82, 0.1)):
        info = Info("elasticsearch", 2, "en", "convqa-en-2", ("title", "text"), "0" * 32, k1=k1, b=b)
        store = type("Store", (), {"info": lambda self, info=info: info, "__module__": "convqa.stores"})
        monkeypatch.setattr(module, "open_store", lambda url, store=store: store())
        entries.append(made("elasticsearch://host/docs"))
    assert [differences(entries[1], other) for other in entries] == [["collection"], [], ["collection"], ["collection"]]
    assert "k1" not in entries[0]["collection"]
    assert (entries[1]["collection"]["k1"], entries[1]["collection"]["b"]) == (0.82, 0.68)


def test_the_models_of_its_stations_are_part_of_it(monkeypatch):
    pipeline = load("copy-bm25")
    assert fingerprint(pipeline, task="qrecc")["models"] == {}
    monkeypatch.setattr(Copy, "identity", lambda self: {"encoder": "c" * 32})
    entry = fingerprint(pipeline, task="qrecc")
    assert entry["models"] == {"rewriter": {"encoder": "c" * 32}}
    # How a model runs is said there, by each for itself.
    assert not {"device", "precision"} & set(entry)


def test_torch_and_transformers_count_where_a_model_runs_on_torch(monkeypatch):
    monkeypatch.setattr(module.metadata, "version", lambda name: f"{name} 1")
    pipeline = load("copy-bm25")
    libraries = {}
    for runs in ("onnx int8 on cpu", "torch float32 on cpu"):
        monkeypatch.setattr(Copy, "identity", lambda self, runs=runs: {"encoder": f"{'c' * 32} ({runs})"})
        libraries[runs] = set(fingerprint(pipeline, task="qrecc")["libraries"])
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


@pytest.fixture
def write_module(tmp_path, monkeypatch):
    """Writes a module into a folder of modules, which is forgotten at the end."""
    monkeypatch.syspath_prepend(str(tmp_path))
    names = []

    def write(name, text):
        (tmp_path / f"{name}.py").write_text(text)
        importlib.invalidate_caches()
        names.append(name)

    yield write
    for name in names:
        sys.modules.pop(name, None)


def code_in_description(name):
    importlib.import_module(name.rpartition(".")[0])
    return code_of(classes_in({"node": {"init_parameters": {"inner": [{"type": name}]}}}))


def test_the_file_of_a_components_own_module_counts(write_module):
    write_module("mine_b", "X = 1")
    write_module("mine_a", "import mine_b\nclass Mine: pass\n")
    first = code_in_description("mine_a.Mine")
    assert list(first) == ["mine_a.Mine"] and first["mine_a.Mine"].startswith("sha256:")
    write_module("mine_b", "X = 2")
    assert code_in_description("mine_a.Mine") == first
    write_module("mine_a", "class Mine: pass\n")
    second = code_in_description("mine_a.Mine")
    assert second != first
    marks = [{"task": "qrecc", "code": code} for code in (first, second, {})]
    assert differences(*marks[:2]) == ["code of mine_a.Mine"] == differences(*marks[1:])


def test_of_an_installed_package_the_version_counts_and_of_convqa_and_python_nothing():
    assert code_in_description("yaml.loader.SafeLoader")["yaml.loader.SafeLoader"].startswith("PyYAML==")
    assert code_in_description("convqa.components.rewriters.copy.Copy") == {}
    assert code_in_description("collections.OrderedDict") == {} == code_in_description("builtins.dict")


def test_a_class_without_a_file_has_unknown_code():
    """As one that a cell of a notebook defines."""
    notebook = types.ModuleType("notebook_for_test")
    exec("class Mine: pass", vars(notebook))
    mark = {"code": code_of([notebook.Mine])}
    assert mark["code"] == {"notebook_for_test.Mine": None}
    assert differences(mark, mark) == ["code of notebook_for_test.Mine"]
