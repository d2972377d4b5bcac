from __future__ import annotations

import errno
import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from convqa.errors import InputError, StorageFull
from convqa.files import parse_json, parse_line, whole_file

json_values = st.recursive(
    st.none() | st.integers(-9, 9) | st.text(st.sampled_from('a":\\ {')),
    lambda parts: st.lists(parts) | st.dictionaries(st.text(st.sampled_from('a":\\ {')), parts),
)


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


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"a": 1, "a": 2}', "'a'"),
        ('{"a" : ":", "b": "x", "a" :"\\u003a"}', "'a'"),
        ('{"a\\\\": 1, "a\\\\": 2}', r"'a\\'"),
        ('{"": 1, "meta": {"b": [{"c": 0, "\\u0063": 1}]}}', "'c'"),
        ('[{"a": 1}, {"a": "\\ud800", "b": NaN, "a": 2}]', "'a'"),
    ],
)
def test_a_key_that_is_there_twice_is_refused_with_its_place(text, place):
    """orjson and the standard library would take the last, silently."""
    with pytest.raises(InputError, match=rf"^x: duplicate key {re.escape(place)} in {{"):
        parse_line(text.encode(), "x", "")
    with pytest.raises(InputError, match=rf"^x: duplicate key {re.escape(place)} in {{"):
        parse_json(Path("x"), text.encode(), "")


@given(json_values)
def test_other_values_are_read_as_the_standard_library_reads_them(value):
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, separators=(",", " :"))):
        assert parse_line(text.encode(), "x", "") == (json.loads(text), 0)
