"""Who may write: one process at a time. A killed one's lock is taken; another machine's when the user says so."""

from __future__ import annotations

import os

import pytest
from elastic_transport import ConnectionTimeout

from convqa.errors import InputError, WorkError
from convqa.stores import create_store, delete_store, take_over
from convqa.stores.elasticsearch import client as module
from convqa.stores.elasticsearch import lock
from convqa.stores.elasticsearch.client import client
from convqa.stores.elasticsearch.index import indices_like
from convqa.stores.elasticsearch.lock import Lock, lock_of
from convqa.stores.elasticsearch.target import Target

pytestmark = pytest.mark.services


@pytest.fixture
def target(index_url):
    target = Target.parse(index_url)
    yield target
    client(target).indices.delete(index=lock_of(target.index), ignore_unavailable=True)


def pretend(target, **holder):
    """The lock says this of its holder."""
    name = lock_of(target.index)
    document = client(target).get(index=name, id="writer")["_source"]
    client(target).index(index=name, id="writer", document={**document, **holder})


def test_a_second_writer_is_refused_until_the_first_ends(target):
    first = Lock(target)
    with pytest.raises(WorkError, match=rf"is being written by another process \(pid {os.getpid()} on .*try again"):
        Lock(target)
    first.check()
    first.release()
    Lock(target).release()


def test_a_removed_lock_leaves_nothing(target):
    Lock(target).remove()
    assert indices_like(target, lock_of(target.index)) == {}


def test_the_lock_of_a_process_of_this_machine_that_is_gone_is_taken_silently(target, caplog):
    gone = Lock(target)
    pretend(target, owner="another", pid=2**22 + 1)
    second = Lock(target)
    with pytest.raises(WorkError, match="was taken over by another process"):
        gone.check()
    gone.release()
    second.check()
    second.release()
    # Its number may be another process's by now.
    Lock(target)
    pretend(target, owner="another", started="1")
    Lock(target).release()
    assert caplog.records == []


def test_the_lock_of_another_machine_stays_until_it_is_taken_over(target, caplog):
    Lock(target)
    pretend(target, owner="another", boot="another", host="far", pid=7)
    told = r"being written by another process \(pid 7 on far\); try again later, or give --take-over if that process"
    for work in (lambda: Lock(target), create_store(target.url).__enter__, lambda: delete_store(target.url)):
        with pytest.raises(WorkError, match=told):
            work()
    take_over(target.url)
    assert "the lock of pid 7 on far is taken over" in caplog.text
    Lock(target).release()


def test_the_lock_of_a_process_of_this_machine_that_lives_is_not_taken_over(target):
    first = Lock(target)
    take_over(target.url)
    first.check()
    first.release()
    take_over(target.url)


def test_folders_have_no_lock_to_take_over(tmp_path):
    with pytest.raises(InputError, match=r"no lock to take over.*Leave --take-over out"):
        take_over(str(tmp_path / "passages"))


def test_a_server_that_is_away_is_not_waited_for(target, monkeypatch):
    asked = []

    def away(self, method, target, body=None, headers=None, request_timeout=None):
        asked.append(request_timeout)
        raise ConnectionTimeout("late")

    held = Lock(target)
    with monkeypatch.context() as patched:
        patched.setattr(module._Node, "perform_request", away)
        held.release()
    assert asked == [lock._SHORT]
