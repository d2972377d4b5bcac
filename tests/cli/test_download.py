"""``convqa download``: from a local server, with a list of one's own."""

from __future__ import annotations

import hashlib
import json
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
        file = {"file": f"{name}.gz", "url": f"{file_server.url}/{name}", "checksum": f"md5:{md5}"}
        sets[name] = {"files": [file]}
    path = tmp_path / "mirror.yaml"
    path.write_text(yaml.safe_dump({"train": sets}), encoding="utf-8")
    return path


def test_files_come_and_are_kept(call, mirror, tmp_path, file_server):
    target = tmp_path / "new" / "folder"
    code, out, err = call("download", mirror, "train", target)
    assert (code, err) == (0, "")
    assert out == (
        f"{target}/One.gz: 0.3 MB; fetched, checksum matches\n{target}/Two.gz: 0.3 MB; fetched, checksum matches\n"
    )
    assert sorted(os.listdir(target)) == ["One.gz", "Two.gz"]
    code, out, _ = call("download", mirror, "train", target)
    assert code == 0 and out.count("kept, checksum matches") == 2 and len(file_server.asked) == 2
    assert call("download", mirror, "train", target, "--quiet")[:2] == (0, "")


def test_an_interrupted_download_keeps_complete_files(process, call, mirror, tmp_path, file_server):
    file_server.faults = [None, ("stall", 100_000)]
    target, part = tmp_path / "new", tmp_path / "new" / "Two.gz.part"
    started = process("download", mirror, "train", target)
    deadline = time.monotonic() + 60
    while not (part.exists() and part.stat().st_size):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    started.send_signal(signal.SIGINT)
    _, err = started.communicate(timeout=60)
    assert started.returncode == 130 and "Finished work is kept" in err
    assert os.listdir(target) == ["One.gz"]
    assert call("download", mirror, "train", target)[0] == 0
    assert file_server.asked[-1] == ("/Two", "") and sorted(os.listdir(target)) == ["One.gz", "Two.gz"]


def test_only_one(call, mirror, tmp_path):
    assert call("download", mirror, "train", tmp_path / "new", "--only", "Two")[0] == 0
    assert os.listdir(tmp_path / "new") == ["Two.gz"]
    code, _, err = call("download", mirror, "train", tmp_path / "new", "--only", "Tow")
    assert code == 2 and "--only Tow" in err and "One, Two" in err


def test_one_that_fails_does_not_stop_the_others(call, mirror, tmp_path, file_server):
    del file_server.files["/One"]
    code, out, err = call("download", mirror, "train", tmp_path / "new")
    assert code == 1 and "Two.gz: 0.3 MB" in out and os.listdir(tmp_path / "new") == ["Two.gz"]
    assert f"convqa: One: {file_server.url}/One: " in err and "404" in err and "1 of 2 data sets" in err


def test_mistakes(call, mirror, tmp_path):
    code, _, err = call("download", mirror, "train", mirror)
    assert code == 2 and "cannot be written" in err
    for part in ([], ["dev"]):
        code, _, err = call("download", "mrqa", *part, tmp_path)
        assert code == 2 and "train, in-domain, out-of-domain" in err
    code, _, err = call("download", mirror, "train", "to", "much")
    assert code == 2 and "[PART] DIR" in err


@pytest.fixture
def sets(file_server, tmp_path):
    """A list of three sets: one that is converted, one that cannot be downloaded, and one file as it is."""
    evidence = {"passage_id": "Faust:1", "passage_text": "Goethe wrote it.", "passage_titles": ["Faust"]}
    label = {"responseType": "directAnswer", "response": "Goethe.", "evidence": [evidence]}
    turn = {"context": ["Who wrote Faust?"], "labels": [label]}
    contents = {"dev.json": json.dumps({"d1": {"turns": [turn]}}).encode(), "plain.txt": b"as it is"}
    file_server.files |= {f"/{name}": data for name, data in contents.items()}
    one, two = (
        {
            "file": f"published/{name}",
            "url": f"{file_server.url}/{name}",
            "checksum": f"sha256:{hashlib.sha256(data).hexdigest()}",
        }
        for name, data in contents.items()
    )
    path = tmp_path / "sets.yaml"
    path.write_text(yaml.safe_dump({"all": {
        "dialogues": {"licence": "none stated", "convert": "inscit", "folder": "dialogues", "files": [one]},
        "secret": {"licence": "for research only", "missing": "its passages may not be passed on."},
        "plain": {"licence": "MIT", "files": [{**two, "checksum": None}]},
    }}, sort_keys=False), encoding="utf-8")  # fmt: skip
    return path


def test_sets_are_converted_and_their_licences_told(call, sets, tmp_path):
    target = tmp_path / "new"
    code, out, err = call("download", sets, target)
    assert code == 0, err
    assert out.splitlines() == [
        "dialogues: licence: none stated",
        f"{target}/published/dev.json: 0.0 MB; fetched, checksum matches",
        f"{target}/dialogues: questions.json (1 record), questions-rewritten.json (1 record), "
        "ground-truth.json (1 record), passages.jsonl (1 record)",
        "secret: licence: for research only",
        "plain: licence: MIT",
        f"{target}/published/plain.txt: 0.0 MB; fetched, not pinned: its checksum is unknown",
    ]
    assert err.startswith("convqa: secret: ") and "its passages may not be passed on." in err
    assert json.loads((target / "dialogues" / "questions.json").read_bytes())[0]["Question"] == "Who wrote Faust?"
    assert call("run", target / "dialogues", tmp_path / "run", "--pipeline", "copy-bm25")[0] == 0
    code, out, _ = call("download", sets, "all", target, "--only", "dialogues")
    assert code == 0 and "kept, checksum matches" in out
    assert call("download", sets, target, "--quiet")[:2] == (0, "")


def test_a_set_that_was_published_otherwise_does_not_stop_the_others(call, sets, tmp_path, file_server):
    text = sets.read_text(encoding="utf-8")
    data = b'{"d1": {"turns": [{"context": []}]}}'
    known = hashlib.sha256(file_server.files["/dev.json"]).hexdigest()
    sets.write_text(text.replace(known, hashlib.sha256(data).hexdigest()), encoding="utf-8")
    file_server.files["/dev.json"] = data
    code, out, err = call("download", sets, tmp_path / "new")
    assert code == 1 and "plain.txt" in out
    assert "convqa: dialogues: " in err and "dev.json: " in err and "Expected the file as published" in err
    assert "1 of 3 data sets" in err
    assert not (tmp_path / "new" / "dialogues").exists()


def test_a_set_that_breaks_off_is_not_converted(call, sets, tmp_path, file_server):
    file_server.faults = [("cut", 10)]
    code, out, err = call("download", sets, tmp_path / "new")
    assert code == 1 and "plain.txt" in out and "dialogues: http" in err
    assert sorted(os.listdir(tmp_path / "new" / "published")) == ["plain.txt"]
    assert call("download", sets, tmp_path / "new")[0] == 0
    assert file_server.asked[-1] == ("/dev.json", "")
