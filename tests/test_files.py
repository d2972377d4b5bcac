from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from convqa.errors import StorageFull
from convqa.files import whole_file


def names(folder):
    return [path.name for path in folder.iterdir()]


def unreadable():
    yield b"one\n"
    raise OSError(errno.EIO, "the source is broken")


def test_a_file_appears_whole(tmp_path):
    with whole_file(tmp_path / "new" / "a") as stream:
        stream.writelines([b"one\n", b"x" * 1_000_000])
        assert names(tmp_path / "new") == [".a.part"]
    assert (tmp_path / "new" / "a").stat().st_size == 1_000_004
    assert names(tmp_path / "new") == ["a"]


def test_an_error_of_the_source_is_not_one_of_the_file(tmp_path):
    with pytest.raises(OSError, match="the source is broken"), whole_file(tmp_path / "a") as stream:
        stream.writelines(unreadable())
    assert names(tmp_path) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("size", [10, 1_000_000])
def test_a_full_device_is_named_and_the_old_file_stays(tmp_path, size):
    """Small content fails when it is flushed, large content while it is written."""
    (tmp_path / "a").write_text("old")
    (tmp_path / ".a.part").symlink_to("/dev/full")
    message = r"a: cannot be written \(No space left on device\); free space"
    with pytest.raises(StorageFull, match=message), whole_file(tmp_path / "a") as stream:
        stream.write(b"x" * size)
    assert (tmp_path / "a").read_text() == "old"
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("name", ["fsync", "replace"])
def test_an_error_of_making_it_last_is_one_of_the_file(tmp_path, monkeypatch, name):
    def failing(*_, **__):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, name, failing)
    with pytest.raises(StorageFull, match="a: cannot be written"), whole_file(tmp_path / "a") as stream:
        stream.write(b"x")
    assert names(tmp_path) == []
