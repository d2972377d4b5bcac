"""Vectors that were made before are not made again, and are the same bytes wherever they come from."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing

import numpy as np
import pytest

from convqa.models import cache as cache_module
from convqa.models import load_encoder
from convqa.models.cache import Cache
from convqa.models.kinds import encoder as kinds
from convqa.models.kinds.encoder import TextEncoder
from convqa.models.types import Model

TEXTS = ["Who wrote Faust?", "Goethe.", "Who wrote Faust?", "", "half \ud800 a character"]


class Encoder(TextEncoder):
    """Makes of a text a vector of three numbers, and keeps what it was asked for."""

    def __init__(self, identity="a", add=0.0):
        Model.__init__(self, "encoder", identity, "here")
        self.dimension, self._prefixes, self._remembers = 3, {}, True
        self.asked = []
        self.add = add

    def _run(self, texts):
        self.asked += texts
        return np.array([[len(text), sum(map(ord, text)), self.add] for text in texts], np.float32)

    @property
    def made(self):
        """How often a text was encoded, those that are always asked for left out."""
        return [text for text in self.asked if text not in kinds._PROBES]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "convqa" / "vectors"


def key(number):
    return number.to_bytes(16)


def vector(number):
    return np.full(3, number, np.float32).tobytes()


def cache(folder, most=1000):
    """A cache whose values are only in the file."""
    return Cache(b"", 0, folder / "vectors.sqlite", most)


def warnings(caplog):
    return [record.getMessage() for record in caplog.records]


def test_a_text_is_encoded_once_in_a_process():
    one = Encoder()
    plain = Encoder().encode(TEXTS)
    assert (one.remembered(TEXTS, "query") == plain).all()
    assert (one.remembered(TEXTS[::-1], "query") == plain[::-1]).all()
    assert sorted(one.made) == sorted(set(TEXTS))


def test_a_process_keeps_the_latest(monkeypatch):
    monkeypatch.setattr(kinds, "_MOST_IN_PROCESS", 2)
    one = Encoder()
    one.remembered(["a", "b", "c"], "query")
    one.asked.clear()
    one.remembered(["b", "c"], "query")
    assert one.made == []
    one.remembered(["a"], "query")
    assert one.made == ["a"]


def test_another_process_reads_what_was_kept_and_nothing_else(folder, monkeypatch):
    monkeypatch.setattr(cache_module, "_VALUES_PER_WRITE", 2)
    one = Encoder()
    one.remembered(["not kept"], "query")
    assert not folder.exists()
    made = one.remembered(TEXTS)
    two = Encoder()
    again = two.remembered([*TEXTS, "not kept"])
    assert again[: len(TEXTS)].tobytes() == made.tobytes()
    assert two.made == ["not kept"]


@pytest.mark.parametrize("other", [{"identity": "b"}, {"add": 1.0}])
def test_another_encoder_or_one_that_computes_otherwise_has_vectors_of_its_own(other):
    Encoder().remembered(TEXTS)
    two = Encoder(**other)
    assert two.remembered(TEXTS).tobytes() == Encoder(**other).encode(TEXTS).tobytes()
    assert sorted(two.made) == sorted(set(TEXTS))


def test_the_encoder_that_ships_gives_the_same_bytes_cold_and_warm():
    model = load_encoder("encoder")
    texts = ["Goethe wrote Faust.", "Weimar is a town in Thuringia, and was his home for long.", "Faust"]
    plain = model.encode(texts)
    cold = model.remembered(texts[::-1])[::-1]
    assert plain.tobytes() == cold.tobytes() == model.remembered(texts).tobytes()
    assert model.remembered([]).shape == (0, 384)


def test_the_file_keeps_the_latest(folder):
    file = cache(folder, 3)
    for number in range(5):
        file.write({key(number): vector(number)})
    assert sorted(file.read([key(number) for number in range(5)])) == [key(2), key(3), key(4)]


def spoil(folder, how):
    file = folder / "vectors.sqlite"
    cache(folder).write({key(number): vector(number) for number in range(500)})
    if how == "no database":
        file.write_bytes(b"no database" * 500)
    elif how == "cut":
        os.truncate(file, file.stat().st_size // 2)
    elif how == "a folder":
        file.unlink()
        file.mkdir()
    elif how == "a file in the place of the folder":
        file.unlink()
        folder.rmdir()
        folder.write_text("")
    return file


SPOILT = ("no database", "cut", "a folder", "a file in the place of the folder")


@pytest.mark.parametrize("how", SPOILT)
def test_a_file_that_is_damaged_is_passed_over_with_one_warning(folder, caplog, how):
    file = spoil(folder, how)
    one = Encoder()
    texts = [str(number) for number in range(600)]
    assert one.remembered(texts).tobytes() == Encoder().encode(texts).tobytes()
    one.remembered(["more"])
    (said,) = warnings(caplog)
    assert said.startswith(f"the cache {file} cannot be used ") and said.endswith("It may be deleted.")


def test_a_file_that_may_be_deleted_at_any_time_is_made_again(folder, caplog):
    one = Encoder()
    one.remembered(["a"])
    (folder / "vectors.sqlite").unlink()
    folder.rmdir()
    one.remembered(["b"])
    two = Encoder()
    two.remembered(["a", "b"])
    assert two.made == ["a"] and warnings(caplog) == []


def test_what_another_process_left_empty_is_filled(folder, caplog):
    folder.mkdir(parents=True)
    (folder / "vectors.sqlite").write_bytes(b"")
    one = Encoder()
    one.remembered(["a"])
    assert warnings(caplog) == [] and Encoder().remembered(["a"]).shape == (1, 3)


def test_a_file_that_cannot_be_written_is_read_until_then(folder, caplog, monkeypatch):
    Encoder().remembered(["a"])
    connect = sqlite3.connect

    def read_only(path, **options):
        return connect(f"file:{path}?mode=ro", uri=True, **options)

    monkeypatch.setattr(sqlite3, "connect", read_only)
    one = Encoder()
    for texts in (["a", "b"], ["c"]):
        assert one.remembered(texts).tobytes() == Encoder().encode(texts).tobytes()
    assert one.made == ["b", "c"]
    (said,) = warnings(caplog)
    assert "cannot be used (attempt to write a readonly database)" in said


def test_a_file_that_another_process_holds_is_not_waited_for_again(folder, caplog, monkeypatch):
    monkeypatch.setattr(cache_module, "_LOCK_SECONDS", 0.01)
    Encoder().remembered(["a"])
    with closing(sqlite3.connect(folder / "vectors.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        one = Encoder()
        assert one.remembered(["a", "b"]).tobytes() == Encoder().encode(["a", "b"]).tobytes()
        one.remembered(["c"])
    (said,) = warnings(caplog)
    assert "cannot be used (database is locked)" in said


def test_threads_share_a_memory():
    one = Encoder()
    plain = Encoder()
    wrong = []

    def work(first):
        for number in range(first, first + 50):
            texts = [str(number), str(number + 1)]
            if one.remembered(texts).tobytes() != plain.encode(texts).tobytes():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(first,)) for first in (0, 25)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


WRITER = """
import sys
from pathlib import Path
import numpy as np
from convqa.models.cache import Cache
first, file = int(sys.argv[1]), Cache(b"", 0, Path(sys.argv[2]) / "vectors.sqlite", 1000)
for number in range(first, first + 100):
    file.write({number.to_bytes(16): np.full(3, number, np.float32).tobytes()})
assert file._path
"""


def test_processes_share_the_file(folder):
    command = [sys.executable, "-c", WRITER]
    writers = [subprocess.Popen([*command, str(first), str(folder)]) for first in (0, 50)]
    assert [writer.wait() for writer in writers] == [0, 0]
    found = cache(folder).read([key(number) for number in range(150)])
    assert found == {key(number): vector(number) for number in range(150)}
