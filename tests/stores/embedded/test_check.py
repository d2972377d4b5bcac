"""Whether a collection's folder holds what was written."""

from __future__ import annotations

import errno
import json
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
    assert (found.problems, found.unchecked) == ((), "") and found.compared.endswith(" files")


def test_one_bit_in_any_file_is_named(folder):
    data = next(folder.glob("data-*"))
    manifest = json.loads((folder / "manifest.json").read_bytes())
    extents = manifest["files"] | manifest["vectors"]["files"]
    files = [data / name for name, extent in extents.items() if extent["size"]]
    files += [path for path in (data / "tantivy").iterdir() if len(path.stem) == 32]
    assert {"passages.data", "ids.offsets", "vectors.matrix", "vectors.rows", "lengths"} < {path.name for path in files}
    for path in files:
        before = path.read_bytes()
        path.write_bytes(bytes([before[0] ^ 1]) + before[1:])
        problems = check_store(str(folder)).problems
        assert problems == (f"{path.relative_to(data)}: its checksum does not match",)
        path.write_bytes(before[:-1])
        assert str(path.relative_to(data)) in " ".join(check_store(str(folder)).problems), path
        path.write_bytes(before)
    assert not check_store(str(folder)).problems


def test_a_file_that_is_missing_or_garbled_at_its_end(folder):
    data = next(folder.glob("data-*"))
    (data / "ids.data").unlink()
    term = next((data / "tantivy").glob("*.term"))
    term.write_bytes(b"nothing")
    assert check_store(str(folder)).problems == (
        "ids.data: cannot be read (No such file or directory)",
        f"tantivy/{term.name}: its footer is malformed",
    )


def test_what_may_not_be_read_is_no_damage(folder, monkeypatch):
    opened = Path.open

    def guarded(self, *args, **kwargs):
        if self.name == "ids.data":
            raise PermissionError(errno.EACCES, "Permission denied", str(self))
        return opened(self, *args, **kwargs)

    monkeypatch.setattr(Path, "open", guarded)
    with pytest.raises(InputError, match=r"ids.data cannot be read \(Permission denied\)"):
        check_store(str(folder))


def test_there_is_nothing_to_check(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        check_store(str(tmp_path / "nowhere"))
