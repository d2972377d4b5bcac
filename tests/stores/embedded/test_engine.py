"""What is deleted of a folder, and what is said where it cannot be: the rest lies in ``test_store.py``."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from convqa.domain import Passage
from convqa.errors import InputError, RunError
from convqa.stores import create_store, delete_store, exists, find_stores, open_store
from convqa.stores.base import Encoder

ENCODER = Encoder("mini", "abc", 2)


def make(folder, *texts, **how):
    with create_store(str(folder), **how) as store:
        store.add([Passage(str(number), text) for number, text in enumerate(texts or ("A text.", "Another."))])
    return str(folder)


@pytest.fixture
def folder(tmp_path):
    make(tmp_path / "c")
    return tmp_path / "c"


def stubborn(folder):
    """``shutil.rmtree`` of a data folder whose index cannot be removed."""
    raise PermissionError(errno.EACCES, "Permission denied", str(folder / "ids"))


def everything(folder):
    return sorted(path.relative_to(folder) for path in folder.rglob("*"))


def test_files_of_the_users_own_stay(folder):
    (folder / "notes.txt").write_text("mine")
    (folder / "thesis").mkdir()
    delete_store(str(folder))
    assert everything(folder) == [Path("notes.txt"), Path("thesis")]
    with pytest.raises(InputError, match="is not a collection: nothing is deleted"):
        delete_store(str(folder))


@pytest.mark.parametrize("manifest", [None, "", '{"name": "webapp"}'])
def test_a_folder_named_like_a_data_folder_is_none_by_its_name(tmp_path, manifest):
    thesis = tmp_path / "data-0123456789ab" / "thesis.txt"
    thesis.parent.mkdir()
    for place in (tmp_path, thesis.parent):
        (place / "writer.lock").touch()
        if manifest is not None:
            (place / "manifest.json").write_text(manifest)
    thesis.write_text("important")
    before = everything(tmp_path)
    with pytest.raises(InputError, match="is not a collection: nothing is deleted"):
        delete_store(str(tmp_path))
    with pytest.raises(InputError, match="is not a convqa collection"):
        make(tmp_path, replace=True)
    assert everything(tmp_path) == before


@pytest.mark.parametrize("manifest", ["", '{"format": "convqa', '{"format": "convqa-index", "version": 3}'])
def test_a_collection_with_a_damaged_manifest_is_replaced_and_deleted(folder, manifest):
    for again in (True, False):
        (folder / "manifest.json").write_text(manifest)
        assert find_stores(str(folder.parent)) == [str(folder)]
        if again:
            make(folder, replace=True)
            assert open_store(str(folder)).info().count == 2 and len(list(folder.glob("data-*"))) == 1
    delete_store(str(folder))
    assert not folder.exists()


def test_a_deletion_that_ended_early_says_where_and_is_given_again(folder, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", stubborn)
        with pytest.raises(InputError, match=r"collection .* cannot be written \(Permission denied\)"):
            delete_store(str(folder))
    assert not exists(str(folder)) and list(folder.glob("data-*"))
    delete_store(str(folder))
    assert not folder.exists()


@pytest.mark.parametrize("name", ["manifest.json", "postings.items.1"])
def test_a_file_that_may_not_be_read_is_no_damage(folder, monkeypatch, name):
    opened, allowed = Path.open, os.access

    def guarded(self, *args, **kwargs):
        if self.name == name:
            raise PermissionError(errno.EACCES, "Permission denied", str(self))
        return opened(self, *args, **kwargs)

    monkeypatch.setattr(Path, "open", guarded)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != name and allowed(path, mode))
    with pytest.raises(InputError, match=rf"{name} cannot be read \(Permission denied\)"):
        open_store(str(folder))
    assert find_stores(str(folder.parent)) == [str(folder)]


def test_vectors_of_old_texts_do_not_come_to_passages_that_took_their_place(folder):
    store = open_store(str(folder))
    make(folder, "Other words under the same id.", replace=True)
    with pytest.raises(RunError, match="was replaced since it was opened: start again"):
        store.add_vectors(["0"], np.eye(2)[:1], ENCODER)
    assert open_store(str(folder)).info().vectors == 0
