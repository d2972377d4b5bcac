"""``convqa download``: from a local server, with a list of one's own."""

from __future__ import annotations

import hashlib
import os
import signal
import time

import pytest
import yaml


@pytest.fixture
def mirror(file_server, tmp_path):
    """The path of a YAML file like configs/downloads/mrqa.yaml, of two files of the local server."""
    sets = {}
    for name in ("One", "Two"):
        data = name.encode() * 100_000
        file_server.files[f"/{name}"] = data
        md5 = hashlib.md5(data).hexdigest()
        sets[name] = {"file": f"{name}.gz", "url": f"{file_server.url}/{name}", "md5": md5, "examples": 5}
    path = tmp_path / "mirror.yaml"
    path.write_text(yaml.safe_dump({"train": sets}), encoding="utf-8")
    return path


def test_files_come_and_are_kept(call, mirror, tmp_path, file_server):
    target = tmp_path / "new" / "folder"
    code, out, err = call("download", mirror, "train", target)
    assert (code, err) == (0, "")
    assert out == (
        f"{target}/One.gz: 0.3 MB, 5 questions; MD5 as wanted\n{target}/Two.gz: 0.3 MB, 5 questions; MD5 as wanted\n"
    )
    assert sorted(os.listdir(target)) == ["One.gz", "Two.gz"]
    code, out, _ = call("download", mirror, "train", target)
    assert code == 0 and out.count("was there, MD5 as wanted") == 2 and len(file_server.asked) == 2
    assert call("download", mirror, "train", target, "--quiet")[:2] == (0, "")


def test_an_interrupted_download_goes_on(process, call, mirror, tmp_path, file_server):
    file_server.faults = [None, ("stall", 100_000)]
    target, part = tmp_path / "new", tmp_path / "new" / "Two.gz.part"
    started = process("download", mirror, "train", target)
    deadline = time.monotonic() + 60
    while not (part.exists() and part.stat().st_size):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    started.send_signal(signal.SIGINT)
    _, err = started.communicate(timeout=60)
    assert started.returncode == 130 and "What has come is kept" in err
    assert sorted(os.listdir(target)) == ["One.gz", "Two.gz.part"]
    size = part.stat().st_size
    assert call("download", mirror, "train", target)[0] == 0
    assert file_server.asked[-1] == ("/Two", f"bytes={size}-") and sorted(os.listdir(target)) == ["One.gz", "Two.gz"]


def test_only_one(call, mirror, tmp_path):
    assert call("download", mirror, "train", tmp_path / "new", "--only", "Two")[0] == 0
    assert os.listdir(tmp_path / "new") == ["Two.gz"]
    code, _, err = call("download", mirror, "train", tmp_path / "new", "--only", "Tow")
    assert code == 2 and "--only Tow: train has no such set; wanted: One, Two. Did you mean 'Two'?" in err


def test_one_that_fails_does_not_stop_the_others(call, mirror, tmp_path, file_server):
    del file_server.files["/One"]
    code, out, err = call("download", mirror, "train", tmp_path / "new")
    assert code == 1 and "Two.gz: 0.3 MB" in out and os.listdir(tmp_path / "new") == ["Two.gz"]
    assert f"convqa: One: {file_server.url}/One: the server answers 404 Not Found." in err
    assert err.endswith("convqa: error: 1 of 2 files is missing. The same command fetches what is missing.\n")


def test_another_sum(call, mirror, tmp_path, file_server):
    file_server.files["/One"] = b"changed"
    code, _, err = call("download", mirror, "train", tmp_path / "new")
    assert code == 1 and os.listdir(tmp_path / "new") == ["Two.gz"]
    assert f"MD5 {hashlib.md5(b'changed').hexdigest()}, wanted MD5 {hashlib.md5(b'One' * 100_000).hexdigest()}" in err


def test_mistakes(call, mirror, tmp_path):
    code, _, err = call("download", mirror, "train", mirror)
    assert code == 2 and "cannot be written" in err
    code, _, err = call("download", "mrqa", "dev", tmp_path)
    assert code == 2 and "wanted: train, in-domain, out-of-domain" in err


def test_nothing_is_asked_of_the_network_but_by_this_command(call, file_server, mirror):
    assert call("download", "--help")[0] == 0
    assert file_server.asked == []
