"""Who may write: one process at a time. The lock of a killed one stays until it is deleted."""

from __future__ import annotations

import os

import pytest

from convqa.errors import WorkError
from convqa.stores import create_store
from convqa.stores.elasticsearch.client import client
from convqa.stores.elasticsearch.lock import LOCKS, CollectionLock
from convqa.stores.elasticsearch.target import IndexTarget

pytestmark = pytest.mark.services


@pytest.fixture
def target(index_url):
    target = IndexTarget.parse(index_url)
    yield target
    client(target).options(ignore_status=404).delete(index=LOCKS, id=target.index)


def test_a_second_writer_is_refused_until_the_lock_is_released_or_deleted(target):
    first = CollectionLock(target)
    told = rf"pid {os.getpid()} on .*curl -X DELETE http.*/{LOCKS}/_doc/{target.index}$"
    for work in (lambda: CollectionLock(target), create_store(target.url, "en").__enter__):
        with pytest.raises(WorkError, match=told):
            work()
    first.check()
    first.release()
    second = CollectionLock(target)
    client(target).delete(index=LOCKS, id=target.index)
    with pytest.raises(WorkError, match="lock was deleted"):
        second.check()
    with CollectionLock(target) as third:
        # It is another's by now.
        second.release()
        third.check()
