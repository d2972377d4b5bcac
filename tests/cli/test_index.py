"""``convqa index`` as a user calls it; reading and building themselves: tests/test_indexing.py."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys

import pytest

from convqa import stores
from convqa.components.encoding import DEFAULT_ENCODERS
from convqa.domain import Passage
from convqa.stores import open_store
from convqa.stores.embedded import engine as embedded


@pytest.fixture(autouse=True)
def _no_progress(monkeypatch):
    """On a busy machine a command may take longer than the interval of progress lines on standard error."""
    monkeypatch.setattr("convqa.cli.progress.LINE_SECONDS", float("inf"))


def passages(path, *ids):
    path.write_text("".join(json.dumps({"id": id, "text": f"The text of {id}."}) + "\n" for id in ids))
    return path


def test_index_add_replace(call, tmp_path):
    source, more = passages(tmp_path / "a.jsonl", "a", "b"), passages(tmp_path / "b.jsonl", "c")
    code, out, err = call("index", source, "--collection", tmp_path / "c")
    assert (code, err) == (0, "") and out.startswith("2 passages")
    code, _, err = call("index", more, "--collection", tmp_path / "c")
    assert code == 2 and "--add" in err and "--replace" in err
    assert call("index", more, "--collection", tmp_path / "c", "--add")[1].startswith("3 passages")
    assert call("index", more, "--collection", tmp_path / "c", "--replace")[1].startswith("1 passage")


def test_a_collection_of_an_older_format_is_replaced(call, tmp_path):
    source, manifest = passages(tmp_path / "a.jsonl", "a"), tmp_path / "c" / "manifest.json"
    assert call("index", source, "--collection", tmp_path / "c")[0] == 0
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "version": 4}))
    for command in (["collections", "show"], ["index", source, "--add", "--collection"]):
        code, _, err = call(*command, tmp_path / "c")
        assert code == 2 and "Index its passages again with --replace" in err
    assert call("index", source, "--collection", tmp_path / "c", "--replace")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.jsonl", "--collection", "c"], "nowhere.jsonl"),
        (["{source}", "--collection", "{folder}/d", "--language", "xx"], "xx"),
        (["{source}", "--collection", "elastic://localhost/x"], "unknown engine 'elastic'"),
        (["{source}", "--collection", "{folder}/nowhere.yaml"], "nowhere.yaml cannot be read"),
        (["{source}", "--collection", "{folder}/d", "--add", "--replace"], "--add and --replace exclude each other"),
        (["--collection", "{folder}/c"], "SOURCES is missing"),
        (["{source}", "--collection", "{folder}/d", "--vectors", "./nowhere"], "nowhere"),
        (["--collection", "{folder}/c", "--vectors", "encoder", "--replace"], "SOURCES is missing"),
        (["--collection", "{folder}/none", "--vectors", "encoder"], "none"),
        (["{source}", "--collection", "{folder}/d", "--device", "cpu"], "--vectors ENCODER"),
    ],
)
def test_mistakes(call, tmp_path, arguments, message):
    source = passages(tmp_path / "a.jsonl", "a")
    assert call("index", source, "--collection", tmp_path / "c")[0] == 0
    code, _, err = call("index", *[argument.format(source=source, folder=tmp_path) for argument in arguments])
    assert code == 2 and message in err and "Traceback" not in err
    assert not (tmp_path / "d").exists()


class Server:
    """An engine that takes settings and otherwise is the embedded one, at ``rec:FOLDER``."""

    def __init__(self):
        self.made = []

    def create(self, address, language, replace, settings):
        self.made.append((language, replace, settings))
        return embedded.create(self._at(address), language, replace)

    def __getattr__(self, name):
        return lambda address: getattr(embedded, name)(self._at(address))

    def _at(self, address):
        return stores.Address(url=address.url.removeprefix("rec:"))


@pytest.fixture
def server(monkeypatch):
    engine = Server()
    monkeypatch.setitem(stores._ENGINES, "rec", "recorder")
    monkeypatch.setitem(sys.modules, "recorder", engine)
    return engine


def test_a_file_gives_url_language_and_settings(call, tmp_path, server):
    source, file = passages(tmp_path / "a.jsonl", "a"), tmp_path / "here.yaml"
    file.write_text(f"url: rec:{tmp_path}/c\nlanguage: de\nsettings: {{shards: 2, k1: 0.9}}\n")
    code, out, _ = call("index", source, "--collection", file)
    assert code == 0 and out.startswith("1 passage")
    assert server.made == [("de", False, {"shards": 2, "k1": 0.9})]
    assert open_store(f"{tmp_path}/c").fetch(["a"]) == [Passage("a", "The text of a.")]


def test_vectors_come_with_the_passages_or_later(call, tmp_path):
    source, more = passages(tmp_path / "a.jsonl", "a", "b"), passages(tmp_path / "b.jsonl", "c")
    code, out, err = call("index", source, "--collection", tmp_path / "c")
    assert (code, err) == (0, "") and "2 vectors of encoder\n" in out
    out = call("index", more, "--collection", tmp_path / "c", "--add", "--no-vectors")[1]
    assert "2 vectors of encoder; 1 passage has none" in out
    code, out, err = call("index", "--collection", tmp_path / "c", "--vectors", "encoder")
    assert (code, err) == (0, "") and "3 vectors of encoder\n" in out
    store = open_store(str(tmp_path / "c"))
    assert (store.info().vectors, list(store.without_vectors())) == (3, [])
    out = call("index", source, "--collection", tmp_path / "c", "--replace", "--no-vectors")[1]
    assert out.startswith("2 passages") and "vectors of" not in out


@pytest.mark.parametrize(("language", "limit"), [("pl", 50_000), ("en", 1)])
def test_no_vectors_by_default_in_other_languages_and_for_many_passages(call, tmp_path, monkeypatch, language, limit):
    monkeypatch.setitem(DEFAULT_ENCODERS, "encoder", limit)
    source = passages(tmp_path / "a.jsonl", "a", "b")
    code, _, err = call("index", source, "--collection", tmp_path / "c", "--language", language)
    assert (code, open_store(str(tmp_path / "c")).info().vectors) == (0, 0)
    assert ("2 passages have no vectors" in err) == (language == "en")
    assert ("ranked by words alone. convqa models get multilingual" in err) == (language == "pl")


@pytest.mark.parametrize("engine", ["embedded", pytest.param("elasticsearch", marks=pytest.mark.services)])
def test_of_two_processes_that_replace_a_collection_the_second_is_refused(
    call, process, tmp_path, request, engine, monkeypatch
):
    monkeypatch.setattr("convqa.stores.embedded.writer._WAIT_SECONDS", 0.1)
    url = str(tmp_path / "c") if engine == "embedded" else request.getfixturevalue("index_url")
    other, slow = passages(tmp_path / "b.jsonl", "b"), tmp_path / "a.jsonl"
    assert call("index", other, "--collection", url)[0] == 0
    os.mkfifo(slow)
    first = process("index", slow, "--collection", url, "--replace")
    with slow.open("w") as lines:  # opens when the first process reads its passages
        code, _, err = call("index", other, "--collection", url, "--replace")
        assert code == 1 and "another process" in err
        lines.write('{"id": "a", "text": "The text of a."}\n')
    out, _ = first.communicate(timeout=60)
    assert first.returncode == 0 and out.startswith("1 passage in")
    assert [passage.id for passage in open_store(url).scan()] == ["a"]
    if engine != "embedded":
        stores.delete_store(url)


def counts(out):
    """Of the documents: all, read, unchanged, removed, unreadable."""
    return [int(number) for number in re.findall(r"\d+", out.splitlines()[0])]


def test_documents_are_indexed_and_brought_up_to_date(call, tmp_path):
    folder, place = tmp_path / "docs", tmp_path / "c"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.txt").write_text("The text of a.")
    (folder / "deep" / "b.md").write_text("# B\n\nThe text of b.")
    code, out, err = call("index", folder, "--collection", place, "--base-url", "http://x")
    assert (code, err) == (0, "")
    assert counts(out) == [2, 2, 0, 0, 0]
    assert out.splitlines()[1].startswith(f"2 passages in {place} (embedded, en)")
    assert open_store(str(place)).fetch(["deep/b.md_p1"])[0].url == "http://x/deep/b.md"
    (folder / "a.txt").write_text("")
    code, out, err = call("index", folder, "--collection", place, "--base-url", "http://x")
    assert code == 1 and "a.txt: it is empty" in err
    assert counts(out) == [2, 0, 1, 0, 1] and out.splitlines()[1].startswith("1 passage")
    (folder / "deep" / "b.md").unlink()
    code, _, err = call("index", folder, "--collection", tmp_path / "other")
    assert code == 2 and "a.txt: it is empty" in err
    code, _, err = call("index", passages(tmp_path / "a.jsonl", "a"), "--collection", place, "--base-url", "http://x")
    assert code == 2 and "base_url applies to documents" in err


def test_a_watched_folder_is_indexed_again(tmp_path):
    """After each change, also after an attempt that failed, until a signal."""
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "a.txt").write_text("The garage opens at six.")
    command = [
        sys.executable,
        "-m",
        "convqa",
        "index",
        folder,
        "--collection",
        tmp_path / "c",
        "--watch",
        "--no-vectors",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def until(words):
        lines = []
        while not lines or words not in lines[-1]:
            lines.append(process.stdout.readline())
            assert lines[-1], lines

    try:
        until("1 passage in")
        (folder / "b.txt").write_text("The garage closes at ten.")
        until("2 passages in")
        for name in ("a.txt", "b.txt"):
            (folder / name).unlink()
        until("Waiting for the next change.")
        (folder / "a.txt").write_text("The garage is closed.")
        until("1 passage in")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == 0
    assert [passage.id for passage in open_store(tmp_path / "c").scan()] == ["a.txt_p1"]


def test_a_missing_source_is_refused_before_it_is_watched(call, tmp_path):
    code, _, err = call("index", tmp_path / "none", "--collection", tmp_path / "c", "--watch")
    assert code == 2 and str(tmp_path / "none") in err
