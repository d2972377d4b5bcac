"""Opening by URL."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from convqa import stores
from convqa.domain import Passage
from convqa.errors import InputError
from convqa.indexing import collection_of
from convqa.stores import create_store, find_stores, open_store
from convqa.stores.address import redact
from convqa.stores.base import Info, SearchParams, refuse_unknown
from convqa.stores.embedded import engine as embedded


@pytest.mark.parametrize("url", [None, ""])
def test_no_collection_is_said_with_the_option(url):
    with pytest.raises(InputError, match="--collection"):
        open_store(url)


def test_an_engine_that_is_not_there_is_named():
    with pytest.raises(InputError, match=r"unknown engine 'http'\. Expected a folder"):
        open_store("http://x/y")


def test_a_folder_may_have_a_drive_letter_or_a_colon():
    for url in ("C:\\data\\index", "./a:b"):
        with pytest.raises(InputError, match="does not exist"):
            open_store(url)


def test_an_engine_of_another_package_is_found_by_its_scheme(installed, tmp_path):
    installed("shelf", "convqa.stores", "shelf = shelf", "from convqa.stores.embedded.engine import *\n")
    installed("broken", "convqa.stores", "broken = broken", "import nothing_of_the_kind\n")
    url = f"shelf:{tmp_path}/c"
    with pytest.raises(InputError, match="does not exist"):
        open_store(url)
    with pytest.raises(InputError, match=r"unknown engine 'shelv'.*Did you mean 'shelf'"):
        open_store("shelv:c")
    with pytest.raises(InputError, match=r"broken in the group convqa.stores cannot be loaded.*nothing_of_the_kind"):
        open_store("broken:c")


class Recorder:
    """An engine that notes what it is given."""

    def __init__(self):
        self.urls = []

    def identity(self, address):
        self.urls.append(address.url)
        return

    def open_collection(self, address):
        raise InputError(f"nothing at {address.url}")


def test_an_engine_gets_the_url_as_it_was_given(monkeypatch):
    engine = Recorder()
    monkeypatch.setitem(stores._ENGINES, "elastic", "recorder")
    monkeypatch.setitem(sys.modules, "recorder", engine)
    with pytest.raises(InputError, match="nothing at"):
        open_store("elastic://host:9200//a//b")
    assert set(engine.urls) == {"elastic://host:9200//a//b"}


@pytest.mark.parametrize("url", ["elastic://me:s3cret@host/x", "http://host/x?api_key=s3cret", "e1:u//x:s3cret@h"])
def test_no_message_shows_credentials(url):
    for open_by in (open_store, lambda url: create_store(url, "en"), collection_of):
        with pytest.raises(InputError) as caught:
            open_by(url)
        assert ("s3cret" in str(caught.value)) == ("://" not in url)
    with pytest.raises(InputError, match=r"http://\*\*\*@host/x.jsonl"):
        collection_of("http://me:s3cret@host/x.jsonl")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("elasticsearch://h:9200/i", "elasticsearch://h:9200/i"),
        ("elasticsearch+https://u:p@h/i", "elasticsearch+https://***@h/i"),
        ("HTTP://u:a@b/c?d#e@h/i", "HTTP://***@h/i"),
        ("http://token@h/i?a=b&c=d;e=f#g", "http://***@h/i?a=***&c=***;e=***"),
        ("C:\\a@b?c=d", "C:\\a@b?c=d"),
    ],
)
def test_users_passwords_and_queries_are_masked(url, shown):
    assert redact(url) == shown


def test_a_closed_store_is_opened_anew(tmp_path):
    url = str(tmp_path / "c")
    with create_store(url, "en") as made:
        made.add([Passage("a", "Rome")])
    first = open_store(url)
    assert open_store(url) is first
    first.close()
    assert first.closed
    second = open_store(url)
    assert second is not first
    assert second.info().count == 1
    assert not second.closed


def test_collections_that_nobody_uses_any_more_are_closed(tmp_path):
    """A program that asks one collection after the other does not run out of file descriptors."""

    def opened(name):
        with create_store(str(tmp_path / name), "en") as made:
            made.add([Passage("a", "Rome")])
        return open_store(str(tmp_path / name))

    first, before = opened("first"), len(os.listdir("/proc/self/fd"))
    for number in range(20):
        opened(f"{number}")
    one = len(os.listdir("/proc/self/fd")) - before
    for number in range(20, 40):
        opened(f"{number}")
    assert len(os.listdir("/proc/self/fd")) - before <= one
    assert first.fetch(["a"]) == [Passage("a", "Rome")]


def test_opening_one_collection_does_not_wait_for_another(tmp_path, monkeypatch):
    for name in "ab":
        with create_store(str(tmp_path / name), "en"):
            pass
    begun, go_on = threading.Event(), threading.Event()
    opened = embedded.open_collection

    def slow(address):
        if address.url.endswith("a"):
            begun.set()
            assert go_on.wait(10)
        return opened(address)

    monkeypatch.setattr(embedded, "open_collection", slow)
    thread = threading.Thread(target=open_store, args=(str(tmp_path / "a"),))
    thread.start()
    assert begun.wait(10)
    assert open_store(str(tmp_path / "b")).info().count == 0
    go_on.set()
    thread.join()


FIXED = Info("x", 1, "en", "a", ("text",), "0", capabilities=frozenset({"stopwords", "write"}), k1=0.82, b=0.68)


def test_fixed_parameters_may_be_asked_for_as_they_are():
    refuse_unknown(SearchParams(k1=0.82, b=0.6800000001, stopwords="long"), FIXED, "the index")
    with pytest.raises(
        InputError,
        match=r"the index cannot search with b=0\.4; it supports stopwords\. Its index has k1=0.82 and b=0.68; search",
    ):
        refuse_unknown(SearchParams(k1=0.82, b=0.4), FIXED, "the index")
    with pytest.raises(InputError, match=r"title_weight=0\.0"):
        refuse_unknown(SearchParams(title_weight=0.0), FIXED, "the index")


def test_the_engine_is_loaded_only_when_it_is_used():
    code = "import sys, convqa.stores; print('elasticsearch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_the_collections_of_a_folder_are_those_of_every_engine(tmp_path):
    with create_store(str(tmp_path / "ours"), "en"):
        pass
    (tmp_path / "lucene").mkdir()
    (tmp_path / "lucene" / "segments_1").touch()
    assert find_stores(str(tmp_path)) == [str(tmp_path / "ours"), f"anserini:{tmp_path / 'lucene'}"]
