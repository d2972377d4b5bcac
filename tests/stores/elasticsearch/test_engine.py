"""Making, replacing, changing, finding and deleting collections, against a real server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

from convqa.domain import Passage
from convqa.errors import InputError, StoreDamaged, StoreUnavailable, WorkError
from convqa.stores import check_store, open_store
from convqa.stores.address import Address
from convqa.stores.base import Encoder
from convqa.stores.content import checksum, content, digest
from convqa.stores.elasticsearch import engine
from convqa.stores.elasticsearch.client import client
from convqa.stores.elasticsearch.index import ServerIndex, indices_like, look_up
from convqa.stores.elasticsearch.lock import LOCKS
from convqa.stores.elasticsearch.schema import Version, document_id, meta_of, vectors_of
from convqa.stores.elasticsearch.target import IndexTarget
from convqa.stores.elasticsearch.writer import BulkWriter

pytestmark = pytest.mark.services


def passages(count, text="passage"):
    return [Passage(f"p{number}", f"{text} {number} about Rome") for number in range(count)]


def sums(given):
    return len(given), checksum(sum(digest(content(passage)) for passage in given))


@pytest.fixture
def target(index_url):
    target = IndexTarget.parse(index_url)
    yield target
    for name in everything(target):
        ServerIndex(target, name).delete()


def versions(target):
    """The indexes of a collection."""
    return sorted(indices_like(target, f"{target.index}*"))


def everything(target):
    """All indexes whose names begin as the collection's, hidden ones too."""
    return list(client(target).indices.get(index=f"{target.index}*", expand_wildcards="all"))


def make(target, given, language="en", replace=False, **settings):
    with engine.create(Address(url=target.url), language, replace, settings) as made:
        made.add(given)


def state(target):
    name, found = look_up(target)
    meta = Version.of(name, found).meta
    return meta.count, meta.checksum


def stopped(target, given, error, after, **settings):
    """A build that is stopped by an error of its source."""

    def source():
        yield from given[:after]
        raise error

    with pytest.raises(type(error)):
        make(target, source(), **settings)


def test_a_collection_is_an_alias_of_one_segment_that_holds_what_was_sent(target):
    make(target, passages(30))
    name, found = look_up(target)
    assert versions(target) == [name]
    assert state(target) == sums(passages(30))
    assert meta_of(found)["ready"] is True
    assert ServerIndex(target, name).count() == 30
    segments = client(target).indices.segments(index=name)["indices"][name]["shards"]["0"][0]["segments"]
    assert len(segments) == 1


@pytest.mark.parametrize("error", [StoreUnavailable("away"), KeyboardInterrupt()])
def test_an_error_leaves_nothing(target, error):
    stopped(target, passages(9), error, 5)
    assert everything(target) == []


def test_what_fails_while_replacing_leaves_the_old_version(target):
    make(target, passages(3))
    stopped(target, passages(9), RuntimeError("broken"), 5, replace=True)
    assert versions(target) == [look_up(target)[0]]
    assert state(target) == sums(passages(3))


def test_an_add_that_failed_is_not_forgotten(target):
    with pytest.raises(WorkError, match="is being written"), engine.create(Address(url=target.url), "en") as made:
        with pytest.raises(InputError):
            made.add([Passage("x", "one"), Passage("x", "other")])
        made.add(passages(3))
    assert versions(target) == []


def killed(target, replace=False):
    """A load that is killed after 9,000 passages, and whose lock is deleted."""
    code = f"""
        import os, signal
        from convqa.domain import Passage
        from convqa.stores import create_store
        def source():
            for number in range(9000):
                yield Passage(f"p{{number}}", f"passage {{number}} about Rome")
            os.kill(os.getpid(), signal.SIGKILL)
        with create_store({target.url!r}, "en", {replace}) as made:
            made.add(source())
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=False, env=os.environ)
    assert done.returncode == -signal.SIGKILL
    client(target).delete(index=LOCKS, id=target.index)


def test_a_load_that_is_killed_starts_again_and_ends_complete(target):
    killed(target)
    (unfinished,) = versions(target)
    with pytest.raises(InputError, match=f"there is no index {target.index!r}"):
        open_store(target.url)
    make(target, passages(12_000))
    assert versions(target) == [look_up(target)[0]] != [unfinished]
    assert state(target) == sums(passages(12_000))


def test_a_reader_sees_the_old_or_the_new_version_and_never_none(target):
    make(target, passages(3))
    seen, ended = set(), threading.Event()

    def read():
        while not ended.is_set():
            seen.add(client(target).count(index=target.index)["count"])

    reader = threading.Thread(target=read)
    reader.start()
    try:
        make(target, passages(5), replace=True)
    finally:
        ended.set()
        reader.join()
    assert seen <= {3, 5}


def test_vectors_are_replaced_with_their_passages(target):
    encoder = Encoder("e", "c", 3)
    with engine.create(Address(url=target.url), "en") as made:
        made.add(passages(3))
        made.add_vectors(["p1"], np.ones((1, 3)), encoder)
    old, _ = look_up(target)
    assert versions(target) == [old, vectors_of(old)]
    assert open_store(target.url).info().vectors == 1
    make(target, passages(4), replace=True)
    assert versions(target) == [look_up(target)[0]]
    assert open_store(target.url).info().encoder is None


def foreign(target, as_alias):
    name = f"{target.index}-others" if as_alias else target.index
    ServerIndex(target, name).create({"number_of_replicas": 0}, {"properties": {"content": {"type": "text"}}})
    if as_alias:
        client(target).indices.put_alias(index=name, name=target.index)
    return name


@pytest.mark.parametrize("as_alias", [False, True])
def test_what_others_made_is_never_touched(target, as_alias):
    name = foreign(target, as_alias)
    with pytest.raises(InputError, match="was not made by convqa: it is left alone"):
        make(target, passages(3), replace=True)
    with pytest.raises(InputError, match="was not made by convqa"):
        engine.delete(Address(url=target.url))
    with pytest.raises(InputError, match=r"was not made by convqa\. Write its documents to a file"):
        open_store(target.url)
    assert engine.identity(Address(url=target.url)) is None
    assert engine.find(Address(url=target.url)) == []
    assert versions(target) == [name]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"shard": 2},
            "settings: shard: unknown field. The settings of an Elasticsearch index are replicas, k1, b",
        ),
        ({"shards": 0}, "settings: shards: expected 1 or more, got 0"),
        ({"k1": "high"}, "settings: k1: "),
        ({"b": 1.5}, "settings: b: "),
    ],
)
def test_mistakes_in_settings_are_told_before_anything_is_made(target, settings, message):
    with pytest.raises(InputError, match=message):
        make(target, [], **settings)
    assert indices_like(target, f"{target.index}*") == {}


def test_other_mistakes_are_told_before_anything_is_made(target):
    with pytest.raises(InputError, match="unknown language 'xx'"):
        make(target, [], language="xx")
    with (
        pytest.raises(InputError, match="Invalid index name"),
        engine.create(Address(url=f"{target.url}{'x' * 250}"), "en"),
    ):
        pass
    assert indices_like(target, f"{target.index}*") == {}


def test_the_settings_are_those_of_the_index(target):
    make(target, passages(50), shards=3, replicas=1, k1=1.2, b=0.75)
    name, _ = look_up(target)
    found = client(target).indices.get_settings(index=name)[name]["settings"]["index"]
    assert (found["number_of_shards"], found["number_of_replicas"]) == ("3", "1")
    assert found["similarity"]["default"] == {"type": "BM25", "k1": "1.2", "b": "0.75"}
    assert state(target) == sums(passages(50))


def test_a_deleted_collection_is_gone_with_what_a_killed_load_left(target):
    make(target, passages(3))
    killed(target, replace=True)
    assert len(versions(target)) == 2
    engine.delete(Address(url=target.url))
    assert everything(target) == []
    killed(target)
    engine.delete(Address(url=target.url))
    assert everything(target) == []
    with pytest.raises(InputError, match="does not exist"):
        engine.delete(Address(url=target.url))


def test_a_build_whose_lock_was_taken_over_is_not_put_in_place(target, monkeypatch):
    def taken(self):
        finished(self)
        client(target).delete(index=LOCKS, id=target.index)

    finished = BulkWriter.finish
    monkeypatch.setattr(BulkWriter, "finish", taken)
    with pytest.raises(WorkError, match="lock was deleted"):
        make(target, passages(3))
    assert look_up(target) is None


def test_collections_are_found_on_a_server(target, elasticsearch):
    make(target, passages(3))
    foreign(IndexTarget.parse(f"{target.url}-x"), as_alias=True)
    found = engine.find(Address(url=elasticsearch))
    assert target.url in found
    assert f"{target.url}-x" not in found


def test_a_passage_that_is_not_as_it_was_written_is_found(target):
    make(target, passages(20))
    store = open_store(target.url)
    store.delete(["p3"])
    store.add_vectors(["p4"], np.eye(2)[:1], Encoder("e", "c", 2))
    store.commit()
    assert check_store(target.url) == []
    name, _ = look_up(target)
    script = {"source": "ctx._source.passage.text = 'Rome is in Spain'"}
    client(target).update(index=name, id=document_id("p7"), script=script, refresh=True)
    with pytest.raises(StoreDamaged, match="its passages do not match its checksum"):
        check_store(target.url)
