"""Who may write: one process at a time. A killed one's lock is taken; another machine's stays until it is deleted."""

from __future__ import annotations

import os

import pytest
from elastic_transport import ConnectionTimeout

from convqa.errors import WorkError
from convqa.stores import create_store
from convqa.stores.elasticsearch import client as module
from convqa.stores.elasticsearch import lock
from convqa.stores.elasticsearch.client import client
from convqa.stores.elasticsearch.lock import LOCKS, Lock
from convqa.stores.elasticsearch.target import Target

pytestmark = pytest.mark.services


@pytest.fixture
def target(index_url):
    target = Target.parse(index_url)
    yield target
    client(target).options(ignore_status=404).delete(index=LOCKS, id=target.index)


def pretend(target, **holder):
    """The lock says this of its holder."""
    document = client(target).get(index=LOCKS, id=target.index)["_source"]
    client(target).index(index=LOCKS, id=target.index, document={**document, **holder})


def test_a_second_writer_is_refused_until_the_first_ends(target):
    first = Lock(target)
    with pytest.raises(WorkError, match=rf"is being written by another process \(pid {os.getpid()} on .*try again"):
        Lock(target)
    first.check()
    first.release()
    Lock(target).release()


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


def test_the_lock_of_another_machine_stays_until_the_user_deletes_it(target):
    Lock(target)
    pretend(target, owner="another", boot="another", host="far", pid=7)
    told = rf"by another process \(pid 7 on far\); try again later. .*curl -X DELETE http.*/{LOCKS}/_doc/{target.index}"
    for work in (lambda: Lock(target), create_store(target.url).__enter__):
        with pytest.raises(WorkError, match=told):
            work()
    client(target).delete(index=LOCKS, id=target.index)
    Lock(target).release()


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
