"""Adds, deletes and vectors in a collection that is searched meanwhile, against a real server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from elastic_transport import ConnectionTimeout
from elasticsearch import Elasticsearch

from convqa.domain import Passage, Query
from convqa.errors import InputError, StoreUnavailable, WorkError
from convqa.stores import create_store, delete_store, open_store
from convqa.stores.address import Address
from convqa.stores.base import Encoder, SearchParams
from convqa.stores.content import checksum, content, digest
from convqa.stores.elasticsearch import writer
from convqa.stores.elasticsearch.client import client
from convqa.stores.elasticsearch.engine import open_collection
from convqa.stores.elasticsearch.index import ServerIndex, indices_like, look_up
from convqa.stores.elasticsearch.lock import LOCKS
from convqa.stores.elasticsearch.schema import Version, vectors_of
from convqa.stores.elasticsearch.target import IndexTarget

pytestmark = pytest.mark.services

PASSAGES = [Passage(f"p{number}", f"passage {number} about Rome", meta={"n": number}) for number in range(10)]
ENCODER = Encoder("e", "c", 4)


@pytest.fixture
def target(index_url):
    """A collection of ten passages."""
    with create_store(index_url, "en") as made:
        made.add(PASSAGES)
    yield IndexTarget.parse(index_url)
    delete_store(index_url)


@pytest.fixture
def store(target):
    opened = open_collection(Address(url=target.url))
    yield opened
    opened.close()


def holds(target, passages):
    """Whether the collection says that it has these passages, has them, and has left nothing else behind."""
    name, found = look_up(target)
    meta = Version.of(name, found).meta
    passages_there = list(open_store(target.url).scan())
    count = len(passages_there)
    assert (count, checksum_of(passages_there)) == (meta.count, meta.checksum)
    assert set(indices_like(target, f"{target.index}-*")) <= {name, vectors_of(name)}
    return (count, meta.checksum) == (len(passages), checksum_of(passages))


def checksum_of(passages):
    return checksum(sum(digest(content(passage)) for passage in passages))


def scores(target):
    hits = open_store(target.url).search([Query("passage 3 about Rome")], 20, SearchParams())[0].hits
    return [(hit.id, hit.score) for hit in hits]


def test_an_add_that_fails_leaves_nothing_of_it_and_of_what_was_deleted_before(target, store):
    def broken():
        yield Passage("p1", "another text")
        raise RuntimeError("broken")

    store.delete(["p1", "p2"])
    with pytest.raises(RuntimeError):
        store.add(broken())
    assert holds(target, PASSAGES)
    for first in (PASSAGES[0], Passage("x", "new")):
        with pytest.raises(InputError, match=rf"two passages have the id '{first.id}'.*'another'"):
            store.add([Passage("y", "also new"), first, Passage(first.id, "another")])
        assert holds(target, PASSAGES)


def test_deleted_ids_may_come_again_and_missing_ones_are_ignored(target, store):
    store.delete(["p1", "p1", "nobody", "\ud800"])
    store.add([Passage("p1", "another text")])
    store.commit()
    assert holds(target, [Passage("p1", "another text"), PASSAGES[0], *PASSAGES[2:]])


def test_after_a_deletion_scores_are_those_of_a_fresh_index(target, store):
    fresh = scores(target)
    store.add([Passage(f"x{number}", "Rome " * 20) for number in range(10)])
    store.commit()
    assert scores(target) != fresh
    store.delete([f"x{number}" for number in range(10)])
    store.commit()
    assert scores(target) == fresh


def test_ids_of_the_longest_kind_are_taken_and_longer_ones_refused(store):
    store.add([Passage("x" * 32_766, "long")])
    with pytest.raises(InputError, match=r"passage 'xxx"):
        store.add([Passage("x" * 32_767, "longer")])


def test_a_request_that_was_carried_out_and_not_answered_counts_once(target, store, monkeypatch, caplog):
    carried_out, failures = Elasticsearch.bulk, [ConnectionTimeout("late")]

    def request(self, **given):
        answer = carried_out(self, **given)
        if failures:
            raise failures.pop()
        return answer

    monkeypatch.setattr(Elasticsearch, "bulk", request)
    store.add([Passage("x", "new"), Passage("y", "new"), PASSAGES[0]])
    store.commit()
    assert holds(target, [*PASSAGES, Passage("x", "new"), Passage("y", "new")])
    assert [line.getMessage() for line in caplog.records] == [
        "1 passage came again with the same id and content: kept once"
    ]


def killed(target, work):
    """A process that begins a change and is killed in it."""
    code = f"""
        import os, signal
        import numpy as np
        from convqa.domain import Passage
        from convqa.stores import open_store
        from convqa.stores.base import Encoder
        from convqa.stores.elasticsearch import index, writer
        store = open_store({target.url!r})
        def end(*_):
            os.kill(os.getpid(), signal.SIGKILL)
        def cut_off():
            yield from (Passage(f"k{{number}}", "killed") for number in range(5000))
            end()
        {work}
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=False, env=os.environ)
    assert done.returncode == -signal.SIGKILL
    with pytest.raises(WorkError, match=f"{LOCKS}/_doc/{target.index}"):
        open_store(target.url).add([])
    client(target).delete(index=LOCKS, id=target.index)


@pytest.mark.parametrize(
    ("work", "is_done"),
    [
        ("store.add(cut_off())", False),
        ("store.delete(['p1', 'p2']); list(cut_off())", False),
        ("writer.put_in_place = end; store.add([Passage('x', 'new')]); store.commit()", False),
        ("index.ServerIndex.discard = end; store.add([Passage('x', 'new')]); store.commit()", True),
    ],
    ids=["add", "delete", "before", "after"],
)
def test_a_change_that_is_killed_is_there_or_not_and_the_next_one_leaves_nothing_of_it(target, work, is_done):
    killed(target, work)
    given = [*PASSAGES, Passage("x", "new")] if is_done else PASSAGES
    store = open_store(target.url)
    assert store.info().count == len(list(store.scan())) == len(given)
    store.add([Passage("x", "new")])
    store.commit()
    assert holds(target, [*PASSAGES, Passage("x", "new")])


def test_what_the_server_has_besides_is_not_committed(target, store, monkeypatch):
    def intruder(self):
        client(target).index(index=self.name, document={"tokens": "intruder"}, refresh=True)

    monkeypatch.setattr(ServerIndex, "refresh", intruder)
    store.add([Passage("x", "new")])
    with pytest.raises(WorkError, match=r"11 passages were sent, and Elasticsearch has 12"):
        store.commit()
    assert holds(target, PASSAGES)


def test_a_change_whose_lock_was_taken_over_is_not_put_in_place(target, store):
    store.add([Passage("x", "new")])
    client(target).delete(index=LOCKS, id=target.index)
    with pytest.raises(WorkError, match="lock was deleted"):
        store.commit()
    assert open_store(target.url).info().count == 10
    store.add([Passage("x", "new")])
    store.commit()
    assert holds(target, [*PASSAGES, Passage("x", "new")])


def test_what_was_put_in_place_is_never_removed_though_no_answer_came(target, store, monkeypatch):
    def lost(*given):
        done(*given)
        raise StoreUnavailable("away")

    done = writer.put_in_place
    monkeypatch.setattr(writer, "put_in_place", lost)
    store.add([Passage("x", "new")])
    with pytest.raises(StoreUnavailable):
        store.commit()
    assert holds(target, [*PASSAGES, Passage("x", "new")])


def lacking(store):
    return sorted(passage.id for passage in store.without_vectors())


def found(target):
    """What a search for the first axis finds: ids with scores."""
    ranking = open_store(target.url).search_vectors(np.eye(4, dtype=np.float32)[:1], 9, ENCODER)[0]
    return {hit.id: hit.score for hit in ranking.hits}


def test_vectors_are_replaced_by_a_commit_and_by_nothing_else(target, store):
    store.add_vectors(["p1"], np.ones((1, 4)), ENCODER)
    store._drop()
    assert store.info().encoder is None and len(lacking(store)) == 10
    store.add_vectors(["p1", "p2"], np.eye(4)[[0, 1]], ENCODER)
    store.commit()
    before = found(target)
    assert before == {"p1": 1, "p2": 0}
    store.add_vectors(["p1", "p2", "p3"], 5 * np.ones((3, 4)), ENCODER)
    store._drop()
    assert found(target) == before
    store.add_vectors(["p1", "p3"], 5 * np.ones((2, 4)), ENCODER)
    store.add_vectors(["p1"], 6 * np.ones((1, 4)), ENCODER)
    store.commit()
    assert found(target) == {"p1": 6, "p2": 0, "p3": 5}


def test_vectors_go_with_a_version_and_may_come_after_it(target, store):
    store.add_vectors(["p1", "p2"], 5 * np.ones((2, 4)), ENCODER)
    store.delete(["p1", "p2"])
    store.add([PASSAGES[2]])
    store.add_vectors(["p2"], 7 * np.ones((1, 4)), ENCODER)
    store.commit()
    assert found(target) == {"p2": 7}
    store = open_store(target.url)
    store.add_vectors(["p3"], np.ones((1, 4)), ENCODER)
    store.commit()
    assert found(target) == {"p2": 7, "p3": 1}


def test_vectors_whose_commit_was_killed_come_with_the_same_command_again(target, store):
    for cut in ("writer.BulkWriter._commit_vectors = end", "writer.ServerIndex.write = end"):
        killed(target, f"{cut}; store.add_vectors(['p3', 'p4'], np.ones((2, 4)), Encoder('e', 'c', 4)); store.commit()")
        assert open_store(target.url).info().vectors == 0
    store.add_vectors(["p3", "p4"], 2 * np.ones((2, 4)), ENCODER)
    store.commit()
    assert found(target) == {"p3": 2, "p4": 2}
    assert store.info().vectors == 2


def test_what_elasticsearch_cannot_keep_is_refused(store):
    with pytest.raises(InputError, match=r"range \[1, 4096\] but was \[4097\]"):
        store.add_vectors(["p1"], np.ones((1, 4097)), Encoder("e", "c", 4097))
        store.commit()
