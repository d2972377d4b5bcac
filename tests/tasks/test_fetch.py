"""Fetching over real HTTP: cut connections, sums, and places that cannot be written."""

from __future__ import annotations

import hashlib
import os
import random

import pytest

from convqa.errors import InputError, WorkError
from convqa.tasks.downloads import Download, http_client
from convqa.tasks.downloads import fetch as fetch_with

DATA = random.Random(1).randbytes(1_000_003)
MD5 = hashlib.md5(DATA).hexdigest()


@pytest.fixture
def wanted(file_server):
    file_server.files["/a"] = DATA
    return Download(file="A.gz", url=f"{file_server.url}/a", checksum=f"md5:{MD5}")


@pytest.fixture(scope="module")
def client():
    with http_client() as made:
        yield made


@pytest.fixture
def fetch(client):
    return lambda *arguments, **options: fetch_with(client, *arguments, **options)


def test_a_file_comes_whole_and_is_kept(fetch, wanted, tmp_path, file_server):
    seen = []
    assert fetch(wanted, tmp_path, lambda *done: seen.append(done)) == "fetched"
    assert (tmp_path / "A.gz").read_bytes() == DATA and os.listdir(tmp_path) == ["A.gz"]
    assert seen[-1] == (len(DATA), len(DATA)) and seen == sorted(seen)
    assert fetch(wanted, tmp_path) == "kept"
    assert len(file_server.asked) == 1


def test_another_file_that_is_there_is_left_alone(fetch, wanted, tmp_path, file_server):
    (tmp_path / "A.gz").write_bytes(b"mine")
    with pytest.raises(WorkError, match=f"this is not the file .*: expected md5 {MD5}, got "):
        fetch(wanted, tmp_path)
    assert (tmp_path / "A.gz").read_bytes() == b"mine" and file_server.asked == []


@pytest.mark.parametrize("kind", ["md5", "sha256"])
def test_another_file_is_never_put_in_place(fetch, wanted, tmp_path, file_server, kind):
    digest = hashlib.new(kind, DATA).hexdigest()
    sums = {"checksum": f"{kind}:{digest}"}
    assert fetch(wanted.model_copy(update=sums), tmp_path) == "fetched"
    file_server.files["/a"] = b"<html>log in</html>"
    found = hashlib.new(kind, b"<html>log in</html>").hexdigest()
    other = wanted.model_copy(update={**sums, "file": "B.gz"})
    with pytest.raises(WorkError, match=f"the server sent another file.*: expected {kind} {digest}, got {found}"):
        fetch(other, tmp_path)
    assert os.listdir(tmp_path) == ["A.gz"]


def test_a_transfer_that_broke_off_leaves_nothing_and_starts_anew(fetch, wanted, tmp_path, file_server):
    unpinned = wanted.model_copy(update={"checksum": None, "file": "below/A.gz"})
    file_server.faults = [("cut", 300_000)]
    with pytest.raises(WorkError, match="cannot be fetched"):
        fetch(unpinned, tmp_path)
    assert os.listdir(tmp_path / "below") == []
    assert fetch(unpinned, tmp_path) == "fetched"
    assert (tmp_path / "below" / "A.gz").read_bytes() == DATA and file_server.asked[-1] == ("/a", "")
    assert fetch(unpinned, tmp_path) == "kept"


@pytest.mark.parametrize("status", [403, 404, 410])
def test_a_refusal_is_not_tried_again(fetch, wanted, tmp_path, file_server, status):
    file_server.faults = [status]
    with pytest.raises(WorkError, match=f"/a: the server answers {status} "):
        fetch(wanted, tmp_path)
    assert len(file_server.asked) == 1 and os.listdir(tmp_path) == []


def test_no_network(fetch, wanted, tmp_path):
    nowhere = wanted.model_copy(update={"url": "http://127.0.0.1:1/a"})
    with pytest.raises(WorkError, match=r"/a: cannot be fetched .*Is there a network"):
        fetch(nowhere, tmp_path)


def test_the_folder(fetch, wanted, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    for place in ("file", "file/below"):
        with pytest.raises(InputError, match=r"A\.gz: cannot be written .*choose another place"):
            fetch(wanted, tmp_path / place)
    assert fetch(wanted, tmp_path / "new" / "deep") == "fetched"
    assert os.listdir(tmp_path / "new" / "deep") == ["A.gz"]
