"""Where an Anserini index is, and that convqa only reads it. No Java is asked."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from convqa.errors import InputError
from convqa.stores import create_store, delete_store, exists, find_stores, open_store
from convqa.stores.address import Address
from convqa.stores.anserini.engine import identity, is_index, open_collection

LUCENE8 = Path(__file__).resolve().parents[2] / "fixtures" / "lucene8"


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(LUCENE8, tmp_path / "place" / "index")


def test_identity_changes_with_the_files_but_not_with_a_lock(folder):
    before = identity(Address(url=f"anserini:{folder}"))
    assert before is not None and len(before) == 32
    (folder / "write.lock").touch()
    assert identity(Address(url=str(folder))) == before
    segments = bytearray((folder / "segments_1").read_bytes())
    segments[40] ^= 1
    (folder / "segments_1").write_bytes(segments)
    assert identity(Address(url=str(folder))) not in (None, before)
    (folder / "segments_1").unlink()
    assert identity(Address(url=str(folder))) is None
    assert identity(Address(url="anserini:nowhere")) is None


def test_indexes_are_found_in_a_folder(folder):
    assert is_index(folder) and not is_index(folder.parent)
    assert find_stores(f"anserini:{folder.parent}") == find_stores(f"anserini:{folder}") == [f"anserini:{folder}"]
    with pytest.raises(InputError, match="does not exist"):
        find_stores("anserini:nowhere")


def test_nothing_is_ever_changed(folder):
    url = str(folder)
    assert exists(url) and exists(f"anserini:{url}")
    with pytest.raises(InputError, match="its engine is read-only"), create_store(url, "en", replace=True):
        pass
    with pytest.raises(InputError, match="its engine is read-only"):
        delete_store(url)
    assert exists(url)


def test_what_is_no_index_says_so(folder, tmp_path):
    with pytest.raises(InputError, match=r"folder .*nowhere does not exist"):
        open_store(f"anserini:{tmp_path}/nowhere")
    with pytest.raises(InputError, match=r"place: expected anserini:FOLDER with a Lucene index"):
        open_store(f"anserini:{folder.parent}")
    assert list(folder.parent.iterdir()) == [folder]


def test_english_only():
    with pytest.raises(InputError, match=r"expected language en, .* got 'de'.*--language de"):
        open_collection(Address(url=f"anserini:{LUCENE8}", language="de"))
