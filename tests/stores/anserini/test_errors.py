"""Indexes that cannot be read, each made broken on purpose."""

from __future__ import annotations

import shutil
import struct
import zlib
from pathlib import Path

import pytest

from convqa.errors import InputError, StoreDamaged
from convqa.stores import open_store

LUCENE8 = Path(__file__).resolve().parents[2] / "fixtures" / "lucene8"


@pytest.fixture
def folder(tmp_path, anserini_index):
    return shutil.copytree(LUCENE8, tmp_path / "index")


def rewrite(path, old, new):
    """Change bytes of a Lucene file and its checksum, the last eight bytes."""
    data = path.read_bytes()
    assert old in data
    data = data[:-8].replace(old, new)
    path.write_bytes(data + struct.pack(">Q", zlib.crc32(data)))


def test_an_unknown_codec_asks_for_a_later_jar(folder):
    rewrite(folder / "segments_1", b"Lucene80", b"Lucene77")
    with pytest.raises(InputError, match=r"a Lucene that .*Lucene77.*pip install --upgrade pyserini"):
        open_store(str(folder))


def test_an_index_before_lucene_8_must_be_made_again(folder):
    data = bytearray((folder / "segments_1").read_bytes())
    place = data.index(b"segments") + len(b"segments")
    data[place : place + 4] = struct.pack(">i", 6)
    (folder / "segments_1").write_bytes(data)
    with pytest.raises(InputError, match=r"too old.*index the passages again"):
        open_store(str(folder))


@pytest.mark.parametrize("name", ["_0.fdt", "_0.si", "_0_Lucene50_0.tim"])
def test_a_missing_file_is_damage(folder, name):
    (folder / name).unlink()
    with pytest.raises(StoreDamaged, match=r"is damaged .*Copy it again"):
        open_store(str(folder))


def test_an_index_without_texts_is_refused(anserini_index):
    with pytest.raises(InputError, match=r"does not store the text of document 'a'.*-storeRaw"):
        list(open_store(str(anserini_index([{"id": "a", "contents": "Rome"}], "-storeDocvectors"))).scan())
