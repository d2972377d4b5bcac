"""Transactions on an index that is searched meanwhile, against a real server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from elastic_transport import ConnectionTimeout

from convqa.domain import Passage, Query
from convqa.errors import DuplicatePassage, InputError, RunError, StoreUnavailable, WorkError
from convqa.stores import open_store
from convqa.stores.address import Address
from convqa.stores.base import Encoder, SearchParams, VectorOptions
from convqa.stores.content import checksum, content, digest
from convqa.stores.elasticsearch import bulk, place
from convqa.stores.elasticsearch.connect import Target
from convqa.stores.elasticsearch.index import Index
from convqa.stores.elasticsearch.lease import LeaseLost
from convqa.stores.elasticsearch.schema import Record, VectorRecord, vectors_of
from convqa.stores.elasticsearch.vectors import VectorWriter, without_vectors
from convqa.stores.elasticsearch.writer import Writer

pytestmark = pytest.mark.services

PASSAGES = [Passage(f"p{number}", f"passage {number} about Rome", meta={"n": number}) for number in range(10)]
ENCODER = Encoder("e", "c", 4)


@pytest.fixture
def target(index_url):
    """A collection of ten passages."""
    with place.create(Address(index_url), "en") as made:
        made.add(PASSAGES)
    yield Target.parse(index_url)
    place.delete(Address(index_url))


@pytest.fixture
def index(target):
    return Index(target, place.current(target)[0])


@pytest.fixture
def begin(target, index):
    writers = []

    def begun():
        writers.append(Writer(target, index.name))
        return writers[-1]

    yield begun
    for each in writers:
        each.close()


@pytest.fixture
def kept(monkeypatch):
    """Nothing waits for the server to let go of what was deleted, where no scores are looked at."""
    monkeypatch.setattr(Index, "expunge", lambda self: None)


def record(index):
    return Record.of(index.meta(), index.name)


def holds(index, passages):
    """Whether an index and its record have these passages, and no search sees any other."""
    index.refresh()
    count, sums = index.totals()
    found = record(index)
    assert (count, checksum(sums)) == (found.count, found.checksum)
    assert not found.writing
    wanted = checksum(sum(digest(content(passage)) for passage in passages))
    return (count, found.checksum) == (len(passages), wanted)


def test_a_commit_makes_all_visible_at_once_and_records_it(begin, index):
    writer = begin()
    writer.add([Passage("x", "London")])
    assert index.count() == 10
    committed = writer.commit()
    assert index.count() == committed.count == 11
    assert committed == record(index)
    assert holds(index, [*PASSAGES, Passage("x", "London")])


def test_what_comes_again_is_kept_once_within_a_request_too(begin, index, caplog):
    writer = begin()
    writer.add([PASSAGES[0], Passage("x", "new"), Passage("x", "new")])
    writer.add([Passage("x", "new")])
    assert writer.commit().count == 11
    assert [line.getMessage() for line in caplog.records] == [
        "3 passages came again with the same id and content: kept once"
    ]


@pytest.mark.parametrize("first", [PASSAGES[0], Passage("x", "new")])
def test_an_id_with_other_content_leaves_nothing_of_the_add(begin, index, first):
    writer = begin()
    with pytest.raises(DuplicatePassage, match=rf"two passages have the id '{first.id}'.*'another'"):
        writer.add([Passage("y", "also new"), first, Passage(first.id, "another")])
    writer.close()
    assert holds(index, PASSAGES)


def test_a_source_that_fails_leaves_nothing_and_what_was_deleted_is_back(begin, index):
    def broken():
        yield Passage("p1", "another text")
        raise RuntimeError("broken")

    writer = begin()
    writer.delete(["p1", "p2"])
    with pytest.raises(RuntimeError):
        writer.add(broken())
    writer.close()
    assert holds(index, PASSAGES)


def test_a_transaction_that_is_closed_leaves_nothing(begin, index):
    writer = begin()
    writer.delete(["p1"])
    writer.add([Passage("p1", "another text"), Passage("x", "new")])
    writer.delete(["x", "p1"])
    writer.close()
    assert holds(index, PASSAGES)


@pytest.mark.usefixtures("kept")
def test_deleted_ids_may_come_again_and_missing_ones_are_counted(begin, index, target, caplog):
    writer = begin()
    writer.delete(["p1", "p1", "nobody", "\ud800"])
    writer.add([Passage("p1", "another text")])
    writer.commit()
    assert holds(index, [Passage("p1", "another text"), PASSAGES[0], *PASSAGES[2:]])
    assert [line.getMessage() for line in caplog.records] == [
        f"3 of 4 passages to delete are not in collection {target}"
    ]


@pytest.mark.slow
def test_after_a_deletion_scores_are_those_of_a_fresh_index(begin, index):
    def explained():
        query = {"term": {"tokens": "rome"}}
        hits = index.client.search(index=index.name, query=query, explain=True, size=1)["hits"]["hits"]
        return hits[0]["_score"], str(hits[0]["_explanation"])

    before = explained()[0]
    writer = begin()
    writer.add([Passage(f"x{number}", "Rome " * 20) for number in range(10)])
    writer.commit()
    assert explained()[0] != before
    writer = begin()
    writer.delete([f"x{number}" for number in range(10)])
    writer.commit()
    assert explained()[0] == before


def scores(target):
    hits = open_store(target.url).search([Query("passage 3 about Rome")], 20, SearchParams())[0].hits
    return [(hit.id, hit.score) for hit in hits]


@pytest.mark.slow
def test_after_a_commit_that_failed_scores_are_those_of_a_fresh_index(begin, target, index, monkeypatch):
    def broken(self):
        raise WorkError("broken")

    fresh = scores(target)
    monkeypatch.setattr(VectorWriter, "commit", broken)
    writer = begin()
    writer.add([Passage(f"x{number}", "Rome " * 20) for number in range(10)])
    with pytest.raises(WorkError, match="broken"):
        writer.commit()
    writer.close()
    assert scores(target) == fresh
    assert holds(index, PASSAGES)


def test_the_record_is_new_when_scores_no_longer_count_what_was_deleted(begin, index, monkeypatch):
    seen = []
    writer = begin()
    writer.delete(["p1"])
    monkeypatch.setattr(Index, "expunge", lambda self: seen.append(record(index)))
    assert not record(index).shown
    writer.commit()
    assert [(found.count, found.writing, found.shown) for found in seen] == [(10, True, True)]
    found = record(index)
    assert (found.count, found.writing, found.shown) == (9, False, False)


def test_a_writer_that_lost_the_collection_during_its_commit_records_nothing(begin, index, monkeypatch):
    def lost():
        raise LeaseLost("lost")

    writer = begin()
    writer.add([Passage("x", "new")])
    monkeypatch.setattr(Index, "expunge", lambda self: monkeypatch.setattr(writer._lease, "check", lost))
    with pytest.raises(LeaseLost):
        writer.commit()
    writer.close()
    assert (record(index).count, record(index).writing) == (10, True)


def test_ids_of_the_longest_kind_are_taken_and_longer_ones_refused(begin, index):
    writer = begin()
    writer.add([Passage("x" * 32_766, "long")])
    with pytest.raises(InputError, match=r"'xxx.*has an id of 32,767 bytes; Elasticsearch takes 32,766"):
        writer.add([Passage("x" * 32_767, "longer")])


def test_a_request_that_was_carried_out_and_not_answered_counts_once(begin, index, monkeypatch, caplog):
    send, failures = bulk.Sender._request, [ConnectionTimeout("late")]

    def request(self, action, items):
        answer = send(self, action, items)
        if failures:
            raise failures.pop()
        return answer

    monkeypatch.setattr(bulk.Sender, "_request", request)
    writer = begin()
    writer.add([Passage("x", "new"), Passage("y", "new"), PASSAGES[0]])
    assert writer.commit().count == 12
    assert [line.getMessage().partition(": ")[2] or line.getMessage() for line in caplog.records] == [
        "kept once",
        "3 documents were sent again, since the server was too busy or did not answer",
    ]


def test_a_second_writer_is_refused_until_the_first_ends(begin, target, index):
    first = begin()
    with pytest.raises(WorkError, match=r"is being written by another process \(pid \d+ on .*try again later"):
        Writer(target, index.name)
    with pytest.raises(WorkError, match="is being written"), place.create(Address(target.url), "en", replace=True):
        pass
    with pytest.raises(WorkError, match="is being written"):
        place.delete(Address(target.url))
    first.close()
    Writer(target, index.name).close()


def test_a_writer_of_a_version_that_was_replaced_says_so(target, index):
    with place.create(Address(target.url), "en", replace=True):
        pass
    with pytest.raises(RunError, match="indexed anew"):
        Writer(target, index.name)


def killed(target, index, work):
    """A process that begins a transaction and is killed in it."""
    code = f"""
        import os, signal
        import numpy as np
        from convqa.domain import Passage
        from convqa.stores.base import Encoder
        from convqa.stores.elasticsearch.connect import Target
        from convqa.stores.elasticsearch.index import Index
        from convqa.stores.elasticsearch.vectors import VectorWriter
        from convqa.stores.elasticsearch.writer import Writer
        writer = Writer(Target.parse({target.url!r}), {index.name!r})
        def cut_off():
            for number in range(5000):
                yield Passage(f"k{{number}}", "killed")
            os.kill(os.getpid(), signal.SIGKILL)
        {work}
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=False, env=os.environ)
    assert done.returncode == -signal.SIGKILL


@pytest.mark.usefixtures("kept")
def test_an_add_that_was_killed_is_mended_by_the_next(target, index, begin, caplog):
    killed(target, index, "writer.add(cut_off())")
    assert record(index).writing
    writer = begin()
    assert "a change was cut off" in caplog.text
    writer.add(Passage(f"k{number}", "killed") for number in range(5000))
    writer.commit()
    assert holds(index, [*PASSAGES, *(Passage(f"k{number}", "killed") for number in range(5000))])


@pytest.mark.usefixtures("kept")
def test_a_deletion_that_was_killed_is_told_and_can_be_repeated(target, index, begin, caplog):
    killed(target, index, "writer.delete(['p1']); list(cut_off())")
    writer = begin()
    assert "of its 10 passages 9 are left, as a deletion was cut off: repeat it" in caplog.text
    writer.delete(["p1", "p2"])
    writer.commit()
    assert holds(index, [PASSAGES[0], *PASSAGES[3:]])


@pytest.mark.slow
def test_after_a_killed_add_and_one_that_failed_scores_are_those_of_a_fresh_index(target, index, begin, monkeypatch):
    fresh = scores(target)
    opened = open_store(target.url)
    killed(target, index, "writer.add(cut_off())")
    assert scores(target) == fresh
    expunge = Index.expunge

    def searched(self):
        with pytest.raises(StoreUnavailable, match="is being written"):
            opened.search([Query("Rome")], 1, SearchParams())
        expunge(self)

    monkeypatch.setattr(Index, "expunge", searched)
    writer = begin()
    assert scores(target) == fresh
    with pytest.raises(DuplicatePassage):
        writer.add([Passage("p1", "another text")])
    writer.close()
    assert scores(target) == fresh
    assert holds(index, PASSAGES)


@pytest.mark.usefixtures("kept")
def test_what_a_killed_deletion_left_is_not_taken_for_whole_by_an_add_that_fails(target, index, begin):
    killed(target, index, "writer.delete(['p1']); list(cut_off())")
    begin().close()
    assert record(index).writing


@pytest.mark.usefixtures("kept")
def test_what_the_server_has_besides_is_not_committed(begin, index):
    begun = begin()
    begun.add([Passage("x", "new")])
    index.client.index(index=index.name, document={"tokens": "intruder"})
    with pytest.raises(WorkError, match=r"11 passages.*Elasticsearch has 12"):
        begun.commit()


def vectors(index):
    return VectorRecord.of(Index(index.target, vectors_of(index.name)).meta(), "")


def lacking(index):
    return sorted(passage.id for passage in without_vectors(index))


@pytest.mark.usefixtures("kept")
def test_vectors_come_with_a_commit_and_go_with_their_passages(begin, index):
    assert lacking(index) == sorted(passage.id for passage in PASSAGES)
    writer = begin()
    writer.add_vectors(["p1", "p2"], np.eye(4, dtype=np.float32)[:2], ENCODER, VectorOptions("int8"))
    assert len(lacking(index)) == 10
    assert writer.commit().batches == 2
    assert vectors(index) == VectorRecord(ENCODER, VectorOptions("int8"), 2)
    assert lacking(index) == ["p0", "p3", "p4", "p5", "p6", "p7", "p8", "p9"]
    writer = begin()
    writer.delete(["p1"])
    writer.add([Passage("x", "new")])
    writer.add_vectors(["x", "p2"], np.ones((2, 4)), ENCODER)
    writer.commit()
    assert vectors(index).count == 2
    assert lacking(index) == ["p0", "p3", "p4", "p5", "p6", "p7", "p8", "p9"]


def test_vectors_that_are_dropped_leave_no_trace(begin, index):
    writer = begin()
    writer.add_vectors(["p1"], np.ones((1, 4)), ENCODER)
    writer.close()
    assert not Index(index.target, vectors_of(index.name)).exists()
    writer = begin()
    writer.add_vectors(["p1"], np.ones((1, 4)), ENCODER)
    writer.commit()
    writer = begin()
    writer.add_vectors(["p2"], np.ones((1, 4)), ENCODER)
    writer.close()
    Index(index.target, vectors_of(index.name)).refresh()
    assert "p2" in lacking(index)
    assert "p1" not in lacking(index)


def found(target):
    """What a search for the first axis finds: ids with scores."""
    ranking = open_store(target.url).search_vectors(np.eye(4, dtype=np.float32)[:1], 9, ENCODER)[0]
    return {hit.id: hit.score for hit in ranking.hits}


def test_vectors_are_replaced_by_a_commit_and_by_nothing_else(begin, target, index):
    writer = begin()
    writer.add_vectors(["p1", "p2"], np.eye(4)[[0, 1]], ENCODER)
    writer.commit()
    before = found(target)
    assert before == {"p1": 1, "p2": 0}
    writer = begin()
    writer.add_vectors(["p1", "p2", "p3"], 5 * np.ones((3, 4)), ENCODER)
    writer.close()
    Index(index.target, vectors_of(index.name)).refresh()
    assert found(target) == before
    writer = begin()
    writer.add_vectors(["p1", "p3"], 5 * np.ones((2, 4)), ENCODER)
    writer.add_vectors(["p1"], 6 * np.ones((1, 4)), ENCODER)
    writer.commit()
    assert found(target) == {"p1": 6, "p2": 0, "p3": 5}
    assert vectors(index).count == 3


@pytest.mark.usefixtures("kept")
def test_the_vector_that_waits_for_a_passage_that_is_deleted_after_all_does_not_come(begin, target, index):
    writer = begin()
    writer.add_vectors(["p1", "p2"], np.eye(4)[[0, 1]], ENCODER)
    writer.commit()
    writer = begin()
    writer.add_vectors(["p1", "p2"], 5 * np.ones((2, 4)), ENCODER)
    writer.delete(["p1", "p2"])
    writer.add([PASSAGES[2]])
    writer.add_vectors(["p2"], 7 * np.ones((1, 4)), ENCODER)
    writer.commit()
    assert found(target) == {"p2": 7}
    assert vectors(index).count == 1


@pytest.mark.usefixtures("kept")
def test_after_a_kill_in_a_commit_the_vectors_that_are_left_are_counted(target, index, begin):
    writer = begin()
    writer.add_vectors(["p1", "p2"], np.eye(4)[[0, 1]], ENCODER)
    writer.commit()
    work = """
        writer.add_vectors(["p3", "p4"], np.ones((2, 4)), Encoder("e", "c", 4))
        commit = VectorWriter.commit
        VectorWriter.commit = lambda self: (commit(self), os.kill(os.getpid(), signal.SIGKILL))
        writer.commit()
    """
    killed(target, index, work.strip())
    assert vectors(index).count == 4
    begin().close()
    assert vectors(index).count == 2
    assert found(target) == {"p1": 1, "p2": 0}


@pytest.mark.parametrize(
    ("ids", "matrix", "encoder", "options", "message"),
    [
        (["nobody"], np.ones((1, 4)), ENCODER, None, "no passage 'nobody'"),
        (["p2"], np.ones((1, 3)), ENCODER, None, r"shape \(1, 3\) for 1 passages; wanted: \(1, 4\)"),
        (["p2"], np.ones(4), ENCODER, None, r"shape \(4,\)"),
        (["p2"], np.array([[1, 2, np.nan, 0]]), ENCODER, None, "'p2' has a value that is not finite"),
        (["p2"], np.ones((1, 4)), Encoder("f", "d", 4), None, r"vectors of e \(4 dim.*found vectors of f"),
        (["p2"], np.ones((1, 4)), ENCODER, VectorOptions("int8"), "keeps vectors as float32, auto, not int8, auto"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(begin, index, ids, matrix, encoder, options, message):
    writer = begin()
    writer.add_vectors(["p1"], np.ones((1, 4)), ENCODER)
    writer.commit()
    with pytest.raises(InputError, match=message):
        begin().add_vectors(ids, matrix, encoder, options)


@pytest.mark.parametrize(
    ("dimension", "options", "message"),
    [
        (4, VectorOptions("float16"), "no vectors as float16; it can as float32, int8 or bit"),
        (4, VectorOptions("bit"), "as bit from 64 dimensions on; found 4"),
        (4097, VectorOptions(), "at most 4096 dimensions; found 4097"),
    ],
)
def test_what_elasticsearch_cannot_keep_is_refused(begin, dimension, options, message):
    with pytest.raises(InputError, match=message):
        begin().add_vectors(["p1"], np.ones((1, dimension)), Encoder("e", "c", dimension), options)


@pytest.mark.parametrize("precision", ["float32", "int8", "bit"])
@pytest.mark.parametrize("kind", ["auto", "exact", "hnsw"])
def test_every_kind_of_vectors_is_taken(begin, index, precision, kind):
    writer = begin()
    encoder = Encoder("e", "c", 64)
    writer.add_vectors(["p1"], np.ones((1, 64)), encoder, VectorOptions(precision, kind))
    writer.commit()
    assert vectors(index) == VectorRecord(encoder, VectorOptions(precision, kind), 1)
