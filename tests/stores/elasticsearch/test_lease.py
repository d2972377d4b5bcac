"""Who may write: one at a time, and what a killed process holds can be taken."""

from __future__ import annotations

import os
import time

import pytest
from elastic_transport import ConnectionTimeout

from convqa.errors import WorkError
from convqa.stores.elasticsearch import connect, lease
from convqa.stores.elasticsearch.connect import Target
from convqa.stores.elasticsearch.index import Index
from convqa.stores.elasticsearch.lease import Lease, is_written, lock_of

pytestmark = pytest.mark.services


@pytest.fixture
def target(index_url):
    target = Target.parse(index_url)
    yield target
    Index(target, lock_of(target.index)).delete()


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(lease, "LEASE", 3.0)
    monkeypatch.setattr(lease, "_BEAT", 0.1)


@pytest.fixture
def elsewhere(monkeypatch):
    """As if the holders of locks were on another machine."""
    monkeypatch.setattr(lease, "_is_here", lambda holder: False)


def test_a_lock_elsewhere_that_is_renewed_is_respected(target, quick, elsewhere):
    held = Lease(target)
    start = time.monotonic()
    with pytest.raises(WorkError, match="being written by another process"):
        Lease(target)
    assert time.monotonic() - start < lease.LEASE
    held.release()


def test_a_lock_elsewhere_that_stands_still_is_taken_and_its_holder_learns_it(target, quick, elsewhere, monkeypatch):
    first = Lease(target)
    first._ended.set()
    first._heart.join()
    second = Lease(target)
    second.check()
    monkeypatch.setattr(lease, "_LATEST", 0)
    with pytest.raises(lease.LeaseLost, match="is being written by another process now"):
        first.check()
    first.release()
    second.check()
    second.release()
    Lease(target).release()


def test_the_lock_of_a_process_of_this_machine_that_is_gone_is_taken_at_once(target, monkeypatch):
    first = Lease(target)
    first._ended.set()
    first._heart.join()
    monkeypatch.setattr(lease, "_started", lambda pid: "later")
    start = time.monotonic()
    Lease(target).release()
    assert time.monotonic() - start < 5


def test_a_lock_is_renewed_while_it_is_held(target, quick):
    held = Lease(target)
    first = held._version
    time.sleep(0.5)
    assert held._version > first
    held.check()
    held.release()


def test_a_lock_that_is_removed_goes_with_its_index_and_only_by_its_holder(target, quick, elsewhere):
    first = Lease(target)
    first._ended.set()
    first._heart.join()
    second = Lease(target)
    with pytest.raises(lease.LeaseLost):
        first.remove()
    second.check()
    second.remove()
    second.release()
    assert not Index(target, lock_of(target.index)).exists()
    third = Lease(target)
    third.check()
    third.release()


def test_a_server_that_is_away_is_not_waited_for_and_its_lock_is_free_when_it_is_back(target, monkeypatch):
    asked = []

    def away(self, method, target, body=None, headers=None, request_timeout=None):
        asked.append(request_timeout)
        raise ConnectionTimeout("late")

    held = Lease(target)
    with monkeypatch.context() as patched:
        patched.setattr(connect._Node, "perform_request", away)
        held.release()
    assert asked == [lease._SHORT]
    assert held._seen() is not None
    Lease(target).release()


def test_a_process_of_this_machine_is_known_by_its_beginning():
    assert lease._started(os.getpid()) == lease._started(os.getpid()) != ""
    assert lease._started(2**22 + 1) == ""


def test_others_see_whether_somebody_writes(target, quick, monkeypatch):
    assert not is_written(target)
    lease_ = Lease(target)
    assert is_written(target)
    monkeypatch.setattr(lease, "_machine", lambda: "another")
    assert is_written(target)
    lease_._ended.set()
    lease_._heart.join()
    start = time.monotonic()
    assert not is_written(target)
    assert time.monotonic() - start >= 3.0
    monkeypatch.undo()
    lease_.release()
    assert not is_written(target)


def test_the_lock_of_a_killed_process_is_no_writer(target, quick, monkeypatch):
    lease_ = Lease(target)
    monkeypatch.setattr(lease, "_started", lambda pid: "")
    assert not is_written(target)
    monkeypatch.undo()
    lease_.release()
