"""Commits, crashes and damage of a collection's folder."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest

from convqa.domain import Passage, Query
from convqa.errors import InputError, StorageFull, StoreDamaged, WorkError
from convqa.stores import check_store, open_store
from convqa.stores.address import Address
from convqa.stores.base import Encoder, SearchParams
from convqa.stores.embedded import engine
from convqa.stores.embedded.engine import create, open_collection
from convqa.stores.embedded.manifest import CollectionManifest
from convqa.stores.embedded.postings import PostingWriter


def at(folder):
    return Address(url=str(folder))


PASSAGES = [Passage(f"p{number}", f"passage number w{number} of many") for number in range(20)]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    """A second writer gives up at once."""
    monkeypatch.setattr("convqa.stores.embedded.writer._WAIT_SECONDS", 0.1)


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "collection"
    with create(at(made), "en") as store:
        store.add(PASSAGES)
    return made


def ids(folder, text="passage"):
    return sorted(hit.id for hit in open_collection(at(folder)).search([Query(text)], 50, SearchParams())[0].hits)


def data(folder):
    """The folder of a collection's files."""
    (found,) = folder.glob("data-*")
    return found


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class Killed(BaseException):
    """Stands for the end of a process."""


def killed(*_):
    raise Killed


@pytest.mark.parametrize(("owner", "method"), [(CollectionManifest, "write"), (PostingWriter, "commit")])
def test_killed_before_the_manifest_the_old_state_stays_and_the_next_writer_cleans_up(
    folder, monkeypatch, owner, method
):
    before = open_collection(at(folder)).info()
    store = open_collection(at(folder))
    store.add([Passage("lost", "passage that is lost")])
    store.delete(["p3"])
    with monkeypatch.context() as patch:
        patch.setattr(owner, method, killed)
        with pytest.raises(Killed):
            store.commit()
    del store
    assert open_collection(at(folder)).info() == before
    assert ids(folder) == sorted(passage.id for passage in PASSAGES)
    again = open_collection(at(folder))
    again.add([Passage("kept", "passage that is kept")])
    again.commit()
    assert ids(folder) == sorted([*(passage.id for passage in PASSAGES), "kept"])
    assert ids(folder, "lost") == []
    assert len(list(again.scan())) == 21


KILLED_WRITER = """
import sys
from pathlib import Path
from convqa.domain import Passage
from convqa.stores.address import Address
from convqa.stores.embedded.engine import open_collection
store = open_collection(Address(url=sys.argv[1]))
for batch in range(10_000):
    store.add([Passage(f"b{batch}-{n}", f"added passage number n{n} of batch t{batch}") for n in range(50)])
    store.delete([f"b{batch}-0"])
    store.commit()
    print(batch, flush=True)
"""


@pytest.mark.parametrize("lines", [1, 6])
def test_sigkill_in_a_loop_of_commits_loses_nothing_that_was_committed(folder, lines):
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED_WRITER, str(folder)], stdout=subprocess.PIPE, text=True, cwd=os.getcwd()
    )
    for _ in range(lines):
        done = int(process.stdout.readline())
    time.sleep(0.01 * lines)
    process.send_signal(signal.SIGKILL)
    rest = [int(line) for line in process.stdout.read().split()]
    process.wait()
    process.stdout.close()
    batches = max([done, *rest]) + 1
    store = open_collection(at(folder))
    count = store.info().count
    assert count in {20 + 49 * batches, 20 + 49 * (batches + 1)}
    assert len(list(store.scan())) == count
    assert len(store.search([Query("added passage")], 2000, SearchParams())[0].hits) == count
    store.add([Passage("after", "the writer goes on with zebras")])
    store.commit()
    assert ids(folder, "zebras") == ["after"]
    assert store.info().count == count + 1


@pytest.mark.parametrize("name", ["passages.sqlite", "postings.items.1", "postings.starts.1", "passages", "ids"])
@pytest.mark.parametrize("damage", ["missing", "cut", "garbled"])
def test_a_missing_cut_or_garbled_file_is_damage(folder, name, damage):
    path = data(folder) / name
    whole = path.read_bytes()
    if damage == "missing":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(whole[: len(whole) // 2])
    else:
        path.write_bytes(b"\xff" * len(whole))
    with pytest.raises(StoreDamaged, match="Index its passages again with --replace"):
        ids(folder, "number w3")


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"format": "convqa-index", "version": 9}', '{"format": "convqa-index", "version": 9, "a": 1}'],
)
def test_a_bad_manifest_is_refused(folder, text):
    (folder / "manifest.json").write_text(text)
    with pytest.raises((StoreDamaged, InputError), match=r"manifest\.json"):
        open_store(str(folder))


def test_another_format_is_refused_with_what_to_do_and_may_be_replaced(folder):
    path = folder / "manifest.json"
    (folder / "notes.txt").write_text("of the user")
    for version in (8, 10):
        path.write_text(json.dumps({**json.loads(path.read_text()), "version": version}))
        with pytest.raises(InputError, match=rf"format {version}; this version of convqa reads 9. Index .* again with"):
            open_store(str(folder))
    with create(at(folder), "en", replace=True) as store:
        store.add(PASSAGES[:1])
    assert ids(folder) == ["p0"]
    # What convqa does not know stays where it is.
    assert {path.name for path in folder.iterdir()} == {
        data(folder).name,
        "manifest.json",
        "writer.lock",
        "notes.txt",
    }


def test_foreign_places_are_refused_and_left_alone(tmp_path):
    foreign = tmp_path / "photos"
    foreign.mkdir()
    (foreign / "a.jpg").write_bytes(b"x")
    (tmp_path / "file").write_text("x")
    for name, message in [
        ("photos", "not a convqa collection"),
        ("file", "is a file"),
        ("nothing", "does not exist"),
        ("file/below", "file"),
    ]:
        with pytest.raises(InputError, match=message):
            open_store(str(tmp_path / name))
    for name in ("photos", "file"):
        with pytest.raises(InputError, match="Choose another folder"), create(at(tmp_path / name), "en", replace=True):
            pass
    (foreign / "manifest.json").write_text('{"name": "my web app"}')
    with pytest.raises(InputError, match="does not belong to a convqa collection"):
        open_store(str(foreign))
    assert (foreign / "a.jpg").read_bytes() == b"x"


def test_one_writer_at_a_time(folder):
    first, second = open_collection(at(folder)), open_collection(at(folder))
    first.add([Passage("a", "first")])
    with pytest.raises(WorkError, match="being written by another process"):
        second.add([Passage("b", "second")])
    first.commit()
    second.add([Passage("b", "second")])
    second.commit()
    assert ids(folder, "first second") == ["a", "b"]


def test_a_full_disk_is_a_storage_error_and_the_old_state_stays(folder, monkeypatch):
    store = open_collection(at(folder))
    store.add([Passage("a", "first")])

    def full(self, where):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(CollectionManifest, "write", full)
        with pytest.raises(StorageFull, match="No space left on device"):
            store.commit()
    assert ids(folder, "first") == []
    assert len(ids(folder)) == 20


def test_an_open_store_is_shared_until_the_collection_changes(folder, monkeypatch):
    store = open_store(str(folder))
    monkeypatch.chdir(folder.parent)
    assert open_store("collection") is store
    other = open_collection(at(folder))
    other.add([Passage("a", "first")])
    other.commit()
    assert open_store(str(folder)) is not store
    assert open_store(str(folder)).info().count == 21
    assert store.info().count == 20
    with create(at(folder), "en", replace=True) as made:
        made.add(PASSAGES[:1])
    assert open_store(str(folder)).info().count == 1


def test_a_replacement_while_a_reader_opens_gives_it_the_new_collection(folder, monkeypatch):
    read = CollectionManifest.read
    calls = []

    def slow(where):
        manifest = read(where)
        if not calls:
            calls.append(where)
            with create(at(folder), "en", replace=True) as store:
                store.add([Passage("new", "passage of the new collection")])
        return manifest

    monkeypatch.setattr(CollectionManifest, "read", slow)
    assert ids(folder) == ["new"]


def test_a_reader_keeps_its_state_while_a_writer_commits(folder):
    reader = open_collection(at(folder))
    writer = open_collection(at(folder))
    writer.delete([passage.id for passage in PASSAGES[1:]])
    writer.add([Passage("a", "passage that is new")])
    writer.commit()
    assert len(reader.search([Query("passage")], 50, SearchParams())[0].hits) == 20
    assert ids(folder) == ["a", "p0"]


def test_a_read_only_folder_is_searched_and_not_written(folder, monkeypatch):
    before = contents(folder)
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    assert len(ids(folder)) == 20
    assert contents(folder) == before


KILLED_IN_SQLITE = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("PRAGMA cache_size = 1")  # so that pages are written before the commit
connection.execute("UPDATE passages SET content = zeroblob(10000)")
os.kill(os.getpid(), 9)
"""


def test_a_commit_of_sqlite_that_was_killed_is_undone_by_the_next_process_that_may_write(folder, monkeypatch):
    path = data(folder) / "passages.sqlite"
    subprocess.run([sys.executable, "-c", KILLED_IN_SQLITE, str(path)], check=False)
    assert path.with_name("passages.sqlite-journal").stat().st_size > 0
    connect = sqlite3.connect
    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", lambda path, **how: connect(path.replace("mode=rw", "mode=ro"), **how))
        with pytest.raises(InputError, match=r"a writer was killed\. Open it once as a user who may"):
            open_store(str(folder))
    assert len(ids(folder)) == 20 and len(list(open_store(str(folder)).scan())) == 20


def built_and_killed(folder, when):
    """Replace a collection in a process that is killed "before" the manifest is written, "within" that, or "after"."""
    code = f"""
import os
from pathlib import Path
from convqa.domain import Passage
from convqa.stores.address import Address
from convqa.stores.embedded.engine import create
from convqa.stores.embedded.manifest import CollectionManifest
write, die = CollectionManifest.write, lambda *_: os.kill(os.getpid(), 9)
def killed(self, folder):
    if folder == Path({str(folder)!r}) and {when!r} != "after":
        if {when!r} == "before":
            die()
        Path.replace = die
    write(self, folder)
    if folder == Path({str(folder)!r}):
        die()
CollectionManifest.write = killed
with create(Address(url={str(folder)!r}), "en", replace=True) as store:
    store.add([Passage("new", "passage of the new collection")])
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL


def test_a_replacement_that_is_killed_leaves_the_old_collection_or_the_new_one(folder):
    built_and_killed(folder, "before")
    assert len(ids(folder)) == 20
    built_and_killed(folder, "after")
    assert ids(folder) == ["new"]
    with create(at(folder), "en", replace=True) as store:
        store.add(PASSAGES)
    assert len(ids(folder)) == 20
    assert sorted(path.name for path in folder.iterdir()) == [data(folder).name, "manifest.json", "writer.lock"]


@pytest.mark.parametrize("when", ["before", "within"])
def test_a_first_build_that_is_killed_leaves_no_collection_and_is_given_again(tmp_path, when):
    built_and_killed(tmp_path / "c", when)
    assert engine.find(at(tmp_path)) == engine.find(at(tmp_path / "c")) == []
    with pytest.raises(InputError, match=r"is not a convqa collection.*If indexing was interrupted"):
        open_store(str(tmp_path / "c"))
    with create(at(tmp_path / "c"), "en") as store:
        store.add(PASSAGES)
        assert engine.find(at(tmp_path / "c")) == []
    assert len(ids(tmp_path / "c")) == 20
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == [
        data(tmp_path / "c").name,
        "manifest.json",
        "writer.lock",
    ]


def test_one_build_at_a_time_and_none_beside_a_writer(folder):
    with create(at(folder), "en", replace=True) as store:
        store.add([Passage("first", "passage that is first")])
        with pytest.raises(WorkError, match="being written by another process"), create(at(folder), "en", replace=True):
            pass
    writer = open_collection(at(folder))
    writer.delete(["first"])
    with pytest.raises(WorkError, match="being written"), create(at(folder), "en", replace=True):
        pass
    with pytest.raises(WorkError, match="being written"):
        engine.delete(at(folder))
    writer.close()
    assert ids(folder) == ["first"]
    engine.delete(at(folder))
    assert not folder.exists()


def test_a_passage_that_cannot_be_read_as_it_was_written_is_damage(folder):
    connection = sqlite3.connect(data(folder) / "passages.sqlite")
    connection.execute("UPDATE passages SET content = x'ff'")
    connection.commit()
    connection.close()
    store = open_collection(at(folder))
    with pytest.raises(StoreDamaged, match=rf"{re.escape(str(folder))} is damaged: .*Index its passages again"):
        store.search([Query("number w3")], 5, SearchParams())
    with pytest.raises(StoreDamaged, match="is damaged"):
        store.fetch(["p3"])
    with pytest.raises(StoreDamaged, match="is damaged"):
        list(store.scan())


@pytest.mark.parametrize("threads", [1, 3])
def test_a_batch_is_ranked_as_its_queries_one_by_one(folder, monkeypatch, threads):
    monkeypatch.setenv("OMP_NUM_THREADS", str(threads))
    monkeypatch.setattr("convqa.stores.embedded.store._PASSAGES_PER_THREAD", 1)
    store = open_collection(at(folder))
    for count in (0, 1, 2, 5, 8):
        queries = [Query(f"number w{number}") for number in range(count)]
        alone = [store.search([query], 3, SearchParams(), texts=1)[0] for query in queries]
        assert store.search(queries, 3, SearchParams(), texts=1) == alone


def test_garbled_postings_are_damage(tmp_path):
    with create(at(tmp_path / "c"), "en") as store:
        store.add([Passage(f"p{n}", f"passage number w{n} of many") for n in range(2000)])
    for path in data(tmp_path / "c").glob("postings.*"):
        whole, third = path.read_bytes(), path.stat().st_size // 3
        path.write_bytes(whole[:third] + b"\xff" * third + whole[2 * third :])
    with pytest.raises(StoreDamaged, match="is damaged"):
        open_collection(at(tmp_path / "c")).search([Query(f"number w{n}") for n in range(50)], 5, SearchParams())


def test_counts_stop_at_65535(tmp_path):
    def score(passage):
        with create(at(tmp_path / "c"), "en", replace=True) as store:
            store.add([passage])
        return open_collection(at(tmp_path / "c")).search([Query("rome")], 1, SearchParams(b=0.0))[0].hits[0].score

    assert score(Passage("a", "rome " * 70_000)) == score(Passage("a", "rome " * 65_535))


def test_lists_are_the_same_in_runs_of_any_size(tmp_path, monkeypatch):
    def found(name):
        with create(at(tmp_path / name), "en") as store:
            store.add(PASSAGES[:15])
        store = open_collection(at(tmp_path / name))
        store.add([*PASSAGES[15:], Passage("blank", "")])
        store.delete(["p3", "p16"])
        store.commit()
        return {path.name: path.read_bytes() for path in data(tmp_path / name).glob("postings.*")}

    whole = found("whole")
    monkeypatch.setattr("convqa.stores.embedded.writer._BATCH", 2)
    monkeypatch.setattr("convqa.stores.embedded.postings._POSTINGS_PER_RUN", 4)
    assert found("runs") == whole
    assert whole.keys() == {"postings.items.2", "postings.starts.2"}


def test_a_collection_without_a_word_is_searched_and_whole(tmp_path):
    with create(at(tmp_path / "c"), "en") as store:
        store.add([Passage("blank", "")])
    assert ids(tmp_path / "c", "word") == []
    store = open_collection(at(tmp_path / "c"))
    store.add([Passage("word", "word")])
    store.commit()
    assert ids(tmp_path / "c", "word") == ["word"]
    store.delete(["word"])
    store.commit()
    assert ids(tmp_path / "c", "word") == []


@pytest.fixture
def changed(tmp_path):
    """A collection after two commits, with a deletion and vectors."""
    folder = tmp_path / "changed"
    with create(at(folder), "en") as store:
        store.add(PASSAGES[:9])
    store = open_store(str(folder))
    store.delete(["p3"])
    store.add_vectors(["p0", "p1"], np.eye(2), Encoder("mini", "abc", 2))
    store.commit()
    assert check_store(str(folder)) == []
    return folder


def test_one_flipped_bit_in_a_passage_is_named_wherever_it_is_read(changed):
    file = data(changed) / "passages.sqlite"
    content = bytearray(file.read_bytes())
    content[content.index(PASSAGES[5].text.encode())] ^= 1
    file.write_bytes(content)
    store = open_collection(at(changed))
    damage = re.escape(f"collection {changed} is damaged: passage 'p5' does not match its checksum. Index its passages")
    for read in (
        lambda: store.fetch(["p5"]),
        lambda: list(store.scan()),
        lambda: store.search([Query(PASSAGES[5].text)], 9, SearchParams()),
        lambda: store.delete(["p5"]),
        lambda: check_store(str(changed)),
    ):
        with pytest.raises(StoreDamaged, match=damage):
            read()
    assert store.fetch(["p4"]) == [PASSAGES[4]]


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("DELETE FROM passages WHERE id = 'p8'", "missing or corrupt"),
        ("DELETE FROM deletions", "its passages do not match its checksum"),
    ],
)
def test_a_passage_that_is_missing_or_back_is_damage(changed, statement, problem):
    connection = sqlite3.connect(data(changed) / "passages.sqlite")
    connection.execute(statement)
    connection.commit()
    connection.close()
    with pytest.raises(StoreDamaged, match=problem):
        check_store(str(changed))


def test_a_lost_vector_is_damage(changed):
    path = changed / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["vectors"]["count"] = 3
    path.write_text(json.dumps(manifest))
    with pytest.raises(StoreDamaged, match="expected vectors of 3 passages, found 2"):
        check_store(str(changed))


def test_what_a_killed_load_left_is_no_damage(changed):
    left = changed / "data-0123456789ab"
    left.mkdir()
    assert check_store(str(changed)) == [str(left)]


@pytest.mark.parametrize("name", ["ids", "passages", "postings.items.*", "postings.starts.*", "vectors.*"])
def test_one_flipped_bit_in_any_file_is_damage_for_a_check(changed, name):
    for file in changed.glob(f"data-*/{name}"):
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
        with pytest.raises(StoreDamaged):
            check_store(str(changed))
