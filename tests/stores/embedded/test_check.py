"""Whether a collection's folder holds what was written."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from convqa.domain import Passage
from convqa.errors import InputError
from convqa.stores import check_store, create_store, open_store
from convqa.stores.base import Encoder

ENCODER = Encoder("mini", "abc", 2)


@pytest.fixture
def folder(tmp_path):
    """A collection that has seen everything: two commits of passages, a deletion, vectors twice."""
    made = tmp_path / "c"
    with create_store(str(made)) as store:
        store.add([Passage(f"p{number}", f"The text of number {number}.") for number in range(9)])
    store = open_store(str(made))
    store.add_vectors(["p0", "p1"], np.eye(2), ENCODER)
    store.commit()
    store.add([Passage("more", "A passage that came later.")])
    store.delete(["p3"])
    store.add_vectors(["more"], np.eye(2)[:1], ENCODER)
    store.commit()
    return made


def test_a_collection_is_whole_after_commits_and_deletions(folder):
    found = check_store(str(folder))
    assert (found.problems, found.unchecked) == ((), "")
    assert found.compared.startswith("9 passages and ")


def test_one_bit_in_any_file_is_named(folder):
    data = next(folder.glob("data-*"))
    files = sorted(path for path in data.rglob("*") if path.stat().st_size and path.name != "passages.sqlite")
    files = [path for path in files if path.is_file() and path.suffix not in {".json", ".lock"}]
    assert {"postings.items.3", "postings.starts.3", "passages", "ids", "vectors.matrix"} < {
        path.name for path in files
    }
    for path in files:
        before = path.read_bytes()
        path.write_bytes(bytes([before[0] ^ 1]) + before[1:])
        problems = check_store(str(folder)).problems
        assert problems == (f"{path.relative_to(data)}: its checksum does not match",)
        path.write_bytes(before[:-1])
        assert str(path.relative_to(data)) in " ".join(check_store(str(folder)).problems), path
        path.write_bytes(before)
    assert not check_store(str(folder)).problems


def changed(folder, statement):
    connection = sqlite3.connect(next(folder.glob("data-*/passages.sqlite")))
    connection.execute(statement)
    connection.commit()
    connection.close()


def test_a_changed_passage_is_named(folder):
    changed(folder, "UPDATE passages SET content = CAST(content || ' ' AS BLOB) WHERE id = 'p5'")
    assert check_store(str(folder)).problems == ("passages.sqlite: the checksum of passage 'p5' does not match",)


@pytest.mark.parametrize("statement", ["DELETE FROM passages WHERE id = 'p5'", "DELETE FROM deletions"])
def test_a_passage_that_is_missing_or_back_is_noticed(folder, statement):
    changed(folder, statement)
    assert check_store(str(folder)).problems == ("passages.sqlite: its passages differ from the collection's checksum",)


@pytest.mark.parametrize("position", [0, 0.3, 0.6, 0.95])
def test_a_garbled_page_of_the_database_is_named(folder, position):
    path = next(folder.glob("data-*/passages.sqlite"))
    before = path.read_bytes()
    start = int(position * len(before)) // 8192 * 8192
    path.write_bytes(before[:start] + b"\xff" * 100 + before[start + 100 :])
    assert "passages.sqlite" in check_store(str(folder)).problems[0]


def test_a_file_that_is_missing_or_garbled_at_its_end(folder):
    data = next(folder.glob("data-*"))
    (data / "ids").unlink()
    (data / "passages.sqlite").unlink()
    (data / "postings.items.3").write_bytes(b"nothing")
    assert check_store(str(folder)).problems == (
        f"passages.sqlite: [Errno 2] No such file or directory: '{data / 'passages.sqlite'}'",
        f"ids: cannot be read ([Errno 2] No such file or directory: '{data / 'ids'}')",
        "postings.items.3: cannot be read (mmap length is greater than file size)",
    )


def test_what_may_not_be_read_is_no_damage(folder, monkeypatch):
    opened = Path.open

    def guarded(self, *args, **kwargs):
        if self.name == "postings.items.3":
            raise PermissionError(errno.EACCES, "Permission denied", str(self))
        return opened(self, *args, **kwargs)

    monkeypatch.setattr(Path, "open", guarded)
    with pytest.raises(InputError, match=r"postings.items.3 cannot be read \(Permission denied\)"):
        check_store(str(folder))


def test_there_is_nothing_to_check(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        check_store(str(tmp_path / "nowhere"))
