"""Fetching over real HTTP: cut connections, ranges, sums, and places that cannot be written."""

from __future__ import annotations

import hashlib
import os
import random
from dataclasses import replace

import pytest

from convqa.errors import InputError, StorageFull, WorkError
from convqa.tasks.downloads import Download
from convqa.tasks.fetch import TRIES, folder_for, http_client
from convqa.tasks.fetch import fetch as fetch_with

DATA = random.Random(1).randbytes(1_000_003)
MD5 = hashlib.md5(DATA).hexdigest()


@pytest.fixture
def wanted(file_server):
    file_server.files["/a"] = DATA
    return Download("A", "A.gz", f"{file_server.url}/a", MD5, 7)


@pytest.fixture(scope="module")
def client():
    with http_client() as made:
        yield made


@pytest.fixture
def fetch(client):
    return lambda *arguments, **options: fetch_with(client, *arguments, **options)


def ranges(server):
    return [asked for _, asked in server.asked]


def test_a_file_comes_whole_and_is_kept(fetch, wanted, tmp_path, file_server):
    seen = []
    assert fetch(wanted, tmp_path, lambda *done: seen.append(done)) == "fetched"
    assert (tmp_path / "A.gz").read_bytes() == DATA and os.listdir(tmp_path) == ["A.gz"]
    assert seen[-1] == (len(DATA), len(DATA)) and seen == sorted(seen)
    assert fetch(wanted, tmp_path) == "kept"
    assert ranges(file_server) == [""]


def test_it_goes_on_where_an_earlier_one_ended(fetch, wanted, tmp_path, file_server):
    (tmp_path / "A.gz.part").write_bytes(DATA[:400_000])
    seen = []
    assert fetch(wanted, tmp_path, lambda *done: seen.append(done)) == "fetched"
    assert (tmp_path / "A.gz").read_bytes() == DATA
    assert ranges(file_server) == ["bytes=400000-"] and seen[0][0] > 400_000 and seen[-1] == (len(DATA), len(DATA))


def test_a_cut_connection_is_taken_up(fetch, wanted, tmp_path, file_server):
    file_server.faults = [("cut", 300_000), 503, ("cut", 100_000), None]
    assert fetch(wanted, tmp_path, pause=0) == "fetched"
    assert (tmp_path / "A.gz").read_bytes() == DATA
    assert ranges(file_server) == ["", "bytes=300000-", "bytes=300000-", "bytes=400000-"]


def test_one_that_is_cut_all_the_time_goes_on_with_the_next_call(fetch, wanted, tmp_path, file_server):
    file_server.faults = [("cut", 100_000)] * TRIES
    with pytest.raises(WorkError, match=f"broke off {TRIES} times.*goes on"):
        fetch(wanted, tmp_path, pause=0)
    assert os.listdir(tmp_path) == ["A.gz.part"]
    assert (tmp_path / "A.gz.part").read_bytes() == DATA[: TRIES * 100_000]
    assert fetch(wanted, tmp_path) == "fetched"
    assert ranges(file_server)[-1] == f"bytes={TRIES * 100_000}-"


def test_a_server_without_ranges_starts_again(fetch, wanted, tmp_path, file_server):
    (tmp_path / "A.gz.part").write_bytes(b"x" * 400_000)
    file_server.faults = ["no ranges"]
    assert fetch(wanted, tmp_path) == "fetched"
    assert (tmp_path / "A.gz").read_bytes() == DATA
    assert ranges(file_server) == ["bytes=400000-"]


def test_a_server_that_sends_another_range(fetch, wanted, tmp_path, file_server):
    (tmp_path / "A.gz.part").write_bytes(DATA[:400_000])
    file_server.faults = ["other range"]
    assert fetch(wanted, tmp_path, pause=0) == "fetched"
    assert ranges(file_server) == ["bytes=400000-", ""]


@pytest.mark.parametrize("left", [DATA, DATA + b"more", b"x" * 1000, b"x" * len(DATA)])
def test_what_an_earlier_one_left_may_be_anything(fetch, wanted, tmp_path, file_server, left):
    (tmp_path / "A.gz.part").write_bytes(left)
    assert fetch(wanted, tmp_path) == "fetched"
    assert (tmp_path / "A.gz").read_bytes() == DATA and os.listdir(tmp_path) == ["A.gz"]


def test_another_file_is_never_put_in_place(fetch, wanted, tmp_path, file_server):
    file_server.files["/a"] = b"<html>log in</html>"
    found = hashlib.md5(b"<html>log in</html>").hexdigest()
    with pytest.raises(WorkError, match=f"found 19 bytes with MD5 {found}, wanted MD5 {MD5}"):
        fetch(wanted, tmp_path)
    assert os.listdir(tmp_path) == []


def test_another_file_that_is_there_is_left_alone(fetch, wanted, tmp_path, file_server):
    (tmp_path / "A.gz").write_bytes(b"mine")
    with pytest.raises(WorkError, match=f"another file.*found MD5 .*, wanted {MD5}"):
        fetch(wanted, tmp_path)
    assert (tmp_path / "A.gz").read_bytes() == b"mine" and file_server.asked == []


def test_a_folder_of_its_name_is_left_alone(fetch, wanted, tmp_path, file_server):
    (tmp_path / "A.gz").mkdir()
    with pytest.raises(WorkError, match=r"A\.gz: is a folder; wanted the file http"):
        fetch(wanted, tmp_path)
    assert file_server.asked == []


def test_a_part_that_nobody_asked_for(fetch, wanted, tmp_path, file_server):
    file_server.faults = ["other range"]
    assert fetch(wanted, tmp_path, pause=0) == "fetched"


@pytest.mark.parametrize(("name", "value"), [("ALL_PROXY", "gopher://x:1"), ("SSL_CERT_FILE", "/no/such/file")])
def test_an_environment_that_cannot_be_used(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match=r"the environment names .*SSL_CERT_FILE.* cannot be used: .*unset them\."):
        http_client()


def test_redirects_are_followed(fetch, wanted, tmp_path, file_server):
    file_server.faults = ["move"]
    assert fetch(wanted, tmp_path) == "fetched"


@pytest.mark.parametrize("status", [403, 404, 410])
def test_a_refusal_is_not_tried_again(fetch, wanted, tmp_path, file_server, status):
    file_server.faults = [status]
    with pytest.raises(WorkError, match=f"/a: the server answers {status} "):
        fetch(wanted, tmp_path)
    assert len(file_server.asked) == 1 and os.listdir(tmp_path) == []


def test_no_network(fetch, wanted, tmp_path):
    nowhere = replace(wanted, url="http://127.0.0.1:1/a")
    with pytest.raises(WorkError, match=r"/a: cannot be reached .*Is there a network"):
        fetch(nowhere, tmp_path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk(fetch, wanted, tmp_path):
    (tmp_path / "A.gz.part").symlink_to("/dev/full")
    with pytest.raises(StorageFull, match=r"A\.gz\.part: cannot be written .*free space"):
        fetch(wanted, tmp_path)


def test_the_folder(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    for place in ("file", "file/below"):
        with pytest.raises(InputError, match="file"), folder_for(tmp_path / place):
            pass
    with folder_for(tmp_path / "new" / "deep") as folder:
        assert folder.is_dir()
        with pytest.raises(InputError, match="another process"), folder_for(folder):
            pass
    assert os.listdir(folder) == []
