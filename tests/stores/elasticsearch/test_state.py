"""A collection that changes while it is open: nothing of two collections is mixed, and nothing stays broken."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

from convqa.domain import Passage, Query
from convqa.errors import InputError, RunError, StoreDamaged, StoreUnavailable
from convqa.stores import change_store, create_store, delete_store, open_store
from convqa.stores.address import Address
from convqa.stores.base import Encoder, SearchParams
from convqa.stores.elasticsearch import identity, open_collection, state
from convqa.stores.elasticsearch.connect import Target, client
from convqa.stores.elasticsearch.index import Index
from convqa.stores.elasticsearch.lease import Lease
from convqa.stores.elasticsearch.store import Elasticsearch
from convqa.stores.elasticsearch.vectors import VectorWriter

pytestmark = pytest.mark.services

DEFAULT = SearchParams()
ENCODER = Encoder("e", "c", 2)
CHANGED = r"changed since it was opened.*Start again: one run must not mix two collections"


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """What was deleted may go on counting in scores, which are not looked at here: letting go of it takes long."""
    monkeypatch.setattr(Index, "expunge", lambda self: None)


@pytest.fixture
def url(index_url):
    with create_store(index_url, "en", settings={"k1": 0.82, "b": 0.68}) as made:
        made.add(Passage(f"p{number}", "Rome " * (number + 1)) for number in range(5))
        made.add_vectors(["p0", "p1"], np.eye(2), ENCODER)
    yield index_url
    delete_store(index_url)


@pytest.fixture
def store(url):
    return open_collection(Address(url))


@pytest.fixture
def another(store):
    """The collection as another process has it."""
    return Elasticsearch(store.target, store._index.name, 1)


def reads(store):
    return [
        lambda: store.search([Query("Rome")], 3, DEFAULT),
        lambda: store.search_vectors(np.eye(2), 3, ENCODER),
        lambda: store.fetch(["p1"]),
        lambda: list(store.scan()),
        lambda: list(store.without_vectors()),
    ]


def refused(store, error, message):
    for read in reads(store):
        with pytest.raises(error, match=message) as caught:
            read()
        assert caught.value.transient == (error is StoreUnavailable)


def ids(store):
    return {hit.id for hit in store.search([Query("Rome")], 9, DEFAULT)[0].hits}


def test_what_is_not_committed_disturbs_no_reader(store, another):
    another.add([Passage("new", "Rome")])
    another.add_vectors(["new"], np.ones((1, 2)), ENCODER)
    for read in reads(store):
        assert read()
    another.close()


@pytest.mark.parametrize("change", ["add", "delete", "vectors", "k1", "b"])
def test_another_processs_change_stops_those_who_read(url, store, another, change):
    if change == "add":
        another.add([Passage("new", "Rome")])
    elif change == "delete":
        another.delete(["p4"])
    elif change == "vectors":
        another.add_vectors(["p2"], np.ones((1, 2)), ENCODER)
    else:
        change_store(url, {change: 0.5})
    another.commit()
    refused(store, RunError, CHANGED)
    for read in reads(open_store(url)):
        assert read()


def test_a_change_back_is_a_change(store, another):
    for change in (lambda: another.add([Passage("new", "Rome")]), lambda: another.delete(["new"])):
        change()
        another.commit()
    assert another.info() == store.info()
    refused(store, RunError, CHANGED)


def test_a_change_of_the_same_store_is_no_surprise_for_it(store):
    store.add([Passage("new", "Rome")])
    assert len(ids(store)) == 5
    store.commit()
    assert ids(store) == {"new", *(f"p{number}" for number in range(5))}
    store.add_vectors(["new"], np.ones((1, 2)), ENCODER)
    store.commit()
    for read in reads(store):
        assert read()


def test_a_scan_goes_on_in_the_state_in_which_it_began(store, another):
    passages = store.scan()
    next(passages)
    another.delete(["p3", "p4"])
    another.commit()
    assert len(list(passages)) == 4


def test_k1_and_b_are_those_that_the_server_scores_with(url, monkeypatch):
    before = identity(Address(url))

    def killed(self, record):
        raise AssertionError("the settings are written once")

    monkeypatch.setattr(Index, "write", killed)
    change_store(url, {"k1": 2.0})
    monkeypatch.undo()
    assert identity(Address(url)) != before
    changed = open_collection(Address(url))
    assert (changed.info().k1, changed.info().b) == (2.0, 0.68)
    with pytest.raises(InputError, match=r"k1=2\.0 and b=0\.68"):
        changed.check(SearchParams(k1=0.82))
    changed.add([Passage("new", "Rome")])
    changed.commit()
    assert (changed.info().k1, changed.info().b) == (2.0, 0.68)
    change_store(url, {"k1": 0.82, "b": 0.1})
    assert [open_collection(Address(url)).info().k1, open_collection(Address(url)).info().b] == [0.82, 0.1]


@contextmanager
def committing(another, monkeypatch):
    """While another process commits: its change is seen, and not recorded yet."""
    seen, go_on = threading.Event(), threading.Event()
    commit = VectorWriter.commit

    def slow(self):
        commit(self)
        seen.set()
        go_on.wait(60)

    monkeypatch.setattr(VectorWriter, "commit", slow)
    thread = threading.Thread(target=another.commit)
    thread.start()
    try:
        assert seen.wait(60)
        yield
    finally:
        go_on.set()
        thread.join()


def test_a_slow_commit_is_waited_for_and_breaks_nothing(url, store, another, monkeypatch):
    monkeypatch.setattr(state, "PATIENCE", 0.5)
    another.add([Passage("new", "Rome")])
    with committing(another, monkeypatch):
        refused(store, StoreUnavailable, "is being written by another process; try again later")
        with pytest.raises(StoreUnavailable, match="is being written"):
            open_collection(Address(url))
    refused(store, RunError, CHANGED)
    assert len(ids(open_collection(Address(url)))) == 6


def test_as_many_added_as_deleted_are_seen_before_they_are_recorded(store, another, monkeypatch):
    another.add([Passage("new", "Rome")])
    another.delete(["p4"])
    with committing(another, monkeypatch):
        assert client(store.target).count(index=store._index.name)["count"] == 5
        refused(store, StoreUnavailable, "is being written")


def test_opening_waits_for_a_commit_to_end(url, another, monkeypatch):
    another.add([Passage("new", "Rome")])
    with committing(another, monkeypatch):
        opening = []
        thread = threading.Thread(target=lambda: opening.append(open_collection(Address(url))))
        thread.start()
        time.sleep(0.5)
        assert not opening
    thread.join()
    assert opening[0].info().count == 6
    assert len(ids(opening[0])) == 6


def test_vectors_of_a_change_that_is_not_recorded_stop_those_who_search_them(store, another, monkeypatch):
    another.add_vectors(["p2"], np.ones((1, 2)), ENCODER)
    with committing(another, monkeypatch), pytest.raises(RunError, match=CHANGED):
        store.search_vectors(np.eye(2), 3, ENCODER)


def test_what_was_removed_and_is_still_counted_lets_nobody_read(url, store, monkeypatch):
    monkeypatch.setattr(state, "PATIENCE", 0.5)
    index = store._index
    meta = index.meta()
    client(store.target).indices.put_mapping(index=index.name, meta={**meta, "writing": True, "shown": True})
    refused(store, StoreDamaged, "has 5 passages, and its scores may count what was removed: a change was cut off")
    refused(open_collection(Address(url)), StoreDamaged, "a change was cut off")
    client(store.target).indices.put_mapping(index=index.name, meta=meta)


def test_a_store_that_was_opened_beside_a_killed_change_is_sound_again_when_that_is_undone(url, monkeypatch):
    monkeypatch.setattr(state, "PATIENCE", 0.5)
    target = Target.parse(url)
    known, index = client(target), Index(target, open_collection(Address(url))._index.name)
    known.index(index=index.name, id="x", document={"pid": "x", "batch": 1}, refresh=True)
    meta = index.meta()
    known.indices.put_mapping(index=index.name, meta={**meta, "writing": True})
    store = open_collection(Address(url))
    refused(store, StoreDamaged, "has 5 passages, and 6 are there: a change was cut off")
    lease = Lease(target)
    refused(store, StoreUnavailable, "is being written")
    lease.release()
    known.delete(index=index.name, id="x", refresh=True)
    known.indices.put_mapping(index=index.name, meta=meta)
    for read in reads(store):
        assert read()


def test_a_collection_is_searched_while_it_is_made(index_url):
    with create_store(index_url, "en") as made:
        made.add([Passage("a", "Rome"), Passage("b", "Rome")])
        assert made.fetch(["a"]) == [None] and list(made.scan()) == [] and ids(made) == set()
        made.commit()
        assert ids(made) == {"a", "b"} and len(list(made.scan())) == len(list(made.without_vectors())) == 2
    delete_store(index_url)
