"""``convqa collections`` as a user calls it."""

from __future__ import annotations

import json
import sys

import pytest

from convqa import stores
from convqa.domain import Passage
from convqa.errors import StoreUnavailable
from convqa.stores import create_store, open_store
from convqa.stores.base import Encoder, Info
from tests.cli.conftest import EXAMPLE


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with the collections a (two passages) and b (one, damaged)."""
    monkeypatch.chdir(tmp_path)
    for name, ids in (("a", "xy"), ("b", "z")):
        with create_store(name) as made:
            made.add([Passage(id, f"The text of {id}.") for id in ids])
    for file in (tmp_path / "b").glob("data-*/*"):
        if file.suffix != ".sqlite":
            file.unlink()
    return tmp_path


class Server:
    """An engine with two collections, one of them away."""

    info = Info(
        "server", 7, "de", "convqa-de-2", ("text",), "00ff", Encoder("mini", "abc", 384), 5, frozenset({"filter"}),
        0.82, 0.68,
    )  # fmt: skip
    closed = False

    def __init__(self):
        self.deleted = []

    def identity(self, address):
        return 0

    def open_collection(self, address):
        if address.url.endswith("away"):
            raise StoreUnavailable("the server does not answer")
        return type("Opened", (), {"info": lambda _: self.info, "close": lambda _: None, "closed": False})()

    def find(self, address):
        return [f"{address.url}/one", f"{address.url}/away"]

    def delete(self, address):
        self.deleted.append(address.url)


@pytest.fixture
def server(monkeypatch):
    engine = Server()
    monkeypatch.setitem(stores._ENGINES, "rec", "recorder")
    monkeypatch.setitem(sys.modules, "recorder", engine)
    return engine


def test_list_without_a_place(call, folder, monkeypatch):
    cached = folder / "elsewhere" / "convqa" / "collections" / "0123"
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "elsewhere"))
    with create_store(str(cached), "de", settings={"source": "/data/passages.jsonl"}):
        pass
    code, out, err = call("collections", "list")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert "  a  2 passages, en, embedded" in lines
    assert any(line.startswith("  b  collection b") and "damaged" in line for line in lines)
    assert lines[-2:] == [f"{cached.parent}:", "  0123  0 passages, de, embedded, from /data/passages.jsonl"]


def test_list_where_nothing_is(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert call("collections", "list")[1].count("  none\n") >= 1
    assert call("collections", "list", tmp_path)[1] == f"{tmp_path}:\n  none\n"
    code, _, err = call("collections", "list", tmp_path / "missing")
    assert code == 2 and "does not exist" in err


def test_list_of_a_server_names_what_cannot_be_opened(call, server):
    out = call("collections", "list", "rec://me:s3cret@host")[1]
    assert out.splitlines() == [
        "rec://***@host:",
        "  away  the server does not answer",
        "  one  7 passages, de, server",
    ]
    second, first = json.loads(call("collections", "list", "rec://me:s3cret@host", "--json")[1])
    assert first["url"] == "rec://***@host/one" and first["count"] == 7 and first["encoder"]["name"] == "mini"
    assert second == {
        "name": "away",
        "url": "rec://***@host/away",
        "problem": "the server does not answer",
    }


def test_show(call, folder, server):
    code, out, _ = call("collections", "show", "a")
    checksum = open_store("a").info().checksum
    assert code == 0
    for line in (
        "collection  a", "engine      embedded", "passages    2", "language    en", f"checksum    {checksum}",
        "vectors     none", "k1          set when searching",
    ):  # fmt: skip
        assert line in out.splitlines()
    out = call("collections", "show", "rec://u:p@host/one")[1].splitlines()
    assert "collection  rec://***@host/one" in out and "b           0.68 (fixed)" in out
    assert "vectors     5 of mini (384 dimensions, checksum abc)" in out
    shown = json.loads(call("collections", "show", "a", "--json")[1])
    assert shown["url"] == "a" and shown["checksum"] == checksum and shown["encoder"] is None
    assert shown["capabilities"] == sorted(open_store("a").info().capabilities)


def test_show_by_file_tells_the_url_behind_it(call, folder):
    (folder / "here.yaml").write_text("url: a\n")
    assert call("collections", "show", folder / "here.yaml")[1].startswith(f"collection  {folder}/a\n")


def test_delete_only_with_yes(call, folder):
    code, _, err = call("collections", "delete", "a")
    assert code == 2 and "a (2 passages, en, embedded)" in err and "--yes" in err
    assert (folder / "a").exists()
    assert call("collections", "delete", "a", "--yes")[:2] == (0, "a: deleted\n")
    assert not (folder / "a").exists()
    for arguments in (["a"], ["a", "--yes"]):
        code, _, err = call("collections", "delete", *arguments)
        assert code == 2 and "Traceback" not in err


def test_a_damaged_collection_can_be_deleted(call, folder):
    code, _, err = call("collections", "delete", "b")
    assert code == 2 and "would delete b (damaged: " in err
    assert call("collections", "delete", "b", "--yes")[0] == 0
    assert not (folder / "b").exists()


def test_a_server_that_is_away_is_no_mistake_of_the_users(call, server):
    for command in (["show"], ["delete"]):
        code, _, err = call("collections", command[0], "rec://host/away", *command[1:])
        assert code == 1 and "does not answer" in err


@pytest.mark.services
def test_a_collection_on_a_real_server_from_its_making_to_its_end(call, index_url, small, indexed, tmp_path):
    source, file = EXAMPLE / "passages.jsonl.gz", tmp_path / "there.yaml"
    file.write_text(f"url: {index_url}\nsettings: {{shards: 2, k1: 0.9}}\n")
    code, out, err = call("index", source, "--collection", file, "--no-vectors")
    assert (code, err) == (0, "") and out.startswith(f"326 passages in {file} (elasticsearch, en)")
    assert open_store(index_url).info().checksum == open_store(str(indexed)).info().checksum
    assert (
        f"  {index_url.rpartition('/')[2]}  326 passages, en, elasticsearch"
        in call("collections", "list", index_url)[1].splitlines()
    )
    asked = ["--collection", index_url, "--pipeline", "copy-bm25", "--set", "retriever.k1=0.82", "--quiet"]
    code, _, err = call("run", small, tmp_path / "out", *asked)
    assert code == 2 and "k1=0.9" in err
    file.write_text(f"url: {index_url}\nsettings: {{k1: 0.82}}\n")
    assert call("index", source, "--collection", file, "--replace", "--no-vectors")[0] == 0
    assert json.loads(call("collections", "show", file, "--json")[1])["k1"] == 0.82
    assert call("run", small, tmp_path / "out", *asked)[0] == 0
    assert call("run", small, tmp_path / "own", "--collection", file, "--pipeline", "copy-bm25", "--quiet")[0] == 0
    code, _, err = call("collections", "delete", file)
    assert code == 2 and f"would delete {index_url} (326 passages" in err
    assert call("collections", "delete", file, "--yes")[0] == 0
    assert call("collections", "show", file)[0] == 2


def test_check_names_a_damaged_passage_with_exit_code_1(call, folder, server):
    assert call("collections", "check", "a")[:2] == (0, "a: ok\n")
    left = folder / "a" / "data-0123456789ab"
    left.mkdir()
    assert json.loads(call("collections", "check", "a", "--json")[1]) == {"url": "a", "leftovers": [f"a/{left.name}"]}
    for database in (folder / "a").glob("data-*/passages.sqlite"):
        database.write_bytes(database.read_bytes().replace(b"The text of x", b"Thy text of x"))
    code, _, err = call("collections", "check", "a")
    assert code == 1 and "collection a is damaged: passage 'x' does not match its checksum. Index its" in err
    code, _, err = call("collections", "check", "rec://host/one")
    assert code == 2 and "it has no checksum" in err
