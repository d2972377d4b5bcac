"""Documents into a collection, and again: what is new, changed, gone, and cannot be read."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from convqa.domain import Passage, Query
from convqa.errors import InputError
from convqa.indexing import add_vectors, index_sources, update
from convqa.models import load_encoder
from convqa.stores import create_store, delete_store, open_store
from convqa.stores.base import SearchParams


@pytest.fixture(params=["embedded", pytest.param("elasticsearch", marks=pytest.mark.services)])
def url(request, tmp_path):
    if request.param == "embedded":
        yield str(tmp_path / "collection")
        return
    url = request.getfixturevalue("index_url")
    yield url
    delete_store(url)


@pytest.fixture
def local(tmp_path):
    return str(tmp_path / "collection")


def run(folder, url, **how):
    return index_sources([folder], url, **how)


def counts(made):
    return made.read, made.same, made.gone


def held(url):
    """Passages of a collection by document."""
    found = {}
    for passage in open_store(url).scan():
        found.setdefault(passage.meta.get("file"), set()).add(passage)
    return found


def test_only_what_changed_is_read_again_and_what_is_gone_is_removed(folder, url, make, monkeypatch):
    seen = []
    made = run(folder, url, progress=lambda done, total=0: seen.append(done))
    assert counts(made) == (5, 0, 0) and made.unread == {} and seen == [made.info.count]
    before = held(url)
    assert set(before) == {"manual.PDF", "notes.txt", "sub/coffee.html", "sub/deep/handbook.md", "sub/rules.docx"}

    read, real = [], update.read_document
    monkeypatch.setattr(update, "read_document", lambda file, *rest: read.append(file.name) or real(file, *rest))
    made = run(folder, url)
    assert (counts(made), read) == ((0, 5, 0), [])
    assert made.info.checksum == open_store(url).info().checksum

    (folder / "notes.txt").write_text(f"New notes\n\n{make.safety * 20}")
    (folder / "more.txt").write_text("A new document.")
    (folder / "sub" / "coffee.html").unlink()
    made = run(folder, url)
    assert (counts(made), read) == ((2, 3, 1), ["more.txt", "notes.txt"])
    after = held(url)
    assert set(after) == {*before, "more.txt"} - {"sub/coffee.html"}
    assert after["manual.PDF"] == before["manual.PDF"] and len(after["notes.txt"]) > 2
    (folder / "notes.txt").write_text("Short again.")
    assert counts(run(folder, url)) == (1, 4, 0)
    assert [passage.text for passage in held(url)["notes.txt"]] == ["Short again."]


def test_a_malformed_file_of_meta_is_reported_and_all_documents_are_indexed(folder, local):
    (folder / "meta.yaml").write_text("team: [law")
    made = run(folder, local)
    assert counts(made) == (5, 0, 0)
    assert list(made.unread) == ["meta.yaml"]


def test_vectors_stay_and_are_made_for_what_is_new(folder, url):
    encoder = load_encoder("encoder")
    run(folder, url)
    info = add_vectors(url, encoder)
    (folder / "notes.txt").write_text("New notes of the meeting.")
    made = run(folder, url)
    assert (made.info.count, made.info.vectors) == (info.count, info.count - 1)
    assert add_vectors(url, encoder).vectors == info.count


def test_an_update_is_the_collection_that_would_be_made_anew(folder, local, tmp_path):
    run(folder, local)
    (folder / "notes.txt").write_text("New notes.")
    (folder / "sub" / "rules.docx").unlink()
    assert run(folder, local).info.checksum == run(folder, str(tmp_path / "anew")).info.checksum


def test_add_removes_nothing_and_replace_makes_anew(folder, local, tmp_path):
    run(folder, local)
    other = tmp_path / "other"
    other.mkdir()
    (other / "other.txt").write_text("Another text.")
    with pytest.raises(InputError, match=r"has other documents, .* --add keeps .* --replace makes a new collection"):
        run(other, local)
    assert counts(run(other, local, add=True)) == (1, 0, 0) and len(held(local)) == 6
    assert counts(run(folder, local, add=True)) == (0, 5, 0) and len(held(local)) == 6
    assert counts(run(folder, local)) == (0, 5, 1) and len(held(local)) == 5
    assert counts(run(other, local, replace=True)) == (1, 0, 0) and set(held(local)) == {"other.txt"}
    with pytest.raises(InputError, match="--add and --replace exclude each other"):
        run(other, local, add=True, replace=True)


def test_one_file_does_not_remove_the_others(folder, local):
    run(folder, local)
    with pytest.raises(InputError, match=r"SOURCES is no folder with some of them\. --add keeps"):
        run(folder / "notes.txt", local)
    assert len(held(local)) == 5
    assert counts(run(folder / "notes.txt", local, add=True)) == (0, 1, 0) and len(held(local)) == 5
    assert counts(run(folder / "notes.txt", local, replace=True)) == (1, 0, 0) and len(held(local)) == 1
    assert counts(run(folder / "notes.txt", local)) == (0, 1, 0)


def test_passages_that_are_of_no_document_stay(folder, local):
    mine = Passage("notes", "A passage of mine.", meta={"file": "elsewhere"})
    with create_store(local) as store:
        store.add([mine])
    assert counts(run(folder, local, add=True)) == (5, 0, 0)
    (folder / "notes.txt").unlink()
    assert counts(run(folder, local)) == (0, 4, 1)
    assert open_store(local).fetch(["notes"]) == [mine]


def test_what_cannot_be_read_is_named_and_the_rest_goes_on(folder, local, caplog):
    (folder / "empty.txt").write_text("")
    (folder / "damaged.pdf").write_bytes(b"%PDF-1.4")
    made = run(folder, local)
    assert counts(made) == (5, 0, 0)
    assert made.unread == {"damaged.pdf": made.unread["damaged.pdf"], "empty.txt": "it is empty"}
    assert "not indexed: empty.txt: it is empty" in caplog.messages
    assert counts(run(folder, local)) == (0, 5, 0)
    (folder / "empty.txt").write_text("No longer empty.")
    made = run(folder, local)
    assert counts(made) == (1, 5, 0) and set(made.unread) == {"damaged.pdf"}


def test_navigation_that_is_left_out_is_no_warning(tmp_path, caplog):
    caplog.set_level("INFO")
    (tmp_path / "pages").mkdir()
    menu = "<p>The museum opens at ten.</p><nav><a href='/a'>Start</a> <a href='/b'>About us</a></nav>"
    (tmp_path / "pages" / "menu.html").write_text(menu)
    (tmp_path / "pages" / "image.html").write_text(f"{menu}<img src='plan.png' width='400' height='300'>")
    run(tmp_path / "pages", str(tmp_path / "c"))
    said = {record.getMessage(): record.levelname for record in caplog.records}
    assert said["menu.html: left out: 3 words of navigation."] == "INFO"
    assert [text for text, level in said.items() if level == "WARNING" and "image" in text]


def test_a_document_that_lost_its_text_loses_its_passages_and_one_that_cannot_be_opened_keeps_them(
    folder, local, monkeypatch
):
    run(folder, local)
    (folder / "notes.txt").write_text("")
    real = Path.open

    def opened(path, *arguments, **options):
        if path.name == "rules.docx":
            raise PermissionError(13, "Permission denied")
        return real(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", opened)
    made = run(folder, local)
    assert (counts(made), made.unread) == (
        (0, 3, 0),
        {"sub/rules.docx": "it cannot be opened (Permission denied)", "notes.txt": "it is empty"},
    )
    assert "sub/rules.docx" in held(local) and "notes.txt" not in held(local)


def test_nothing_is_made_where_nothing_can_be_read(tmp_path, local):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("")
    with pytest.raises(InputError, match=r"no document can be read: a\.txt: it is empty"):
        run(tmp_path / "docs", local)
    assert not Path(local).exists()


def test_another_language_and_settings_of_a_collection_that_is_there(folder, local, caplog):
    run(folder, local, language="de")
    with pytest.raises(InputError, match="is in language 'de', not 'en'"):
        run(folder, local, language="en")
    assert open_store(local).info().language == "de"


def test_an_update_that_is_cut_off_leaves_what_was_there_and_ends_complete_when_given_again(folder, local, monkeypatch):
    run(folder, local)
    before = open_store(local).info().checksum
    (folder / "manual.PDF").unlink()
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text(f"The text of {name}.")
    real = update.read_document

    def cut_off(file, *rest):
        if file.name == "b.txt":
            raise KeyboardInterrupt
        return real(file, *rest)

    monkeypatch.setattr(update, "read_document", cut_off)
    with pytest.raises(KeyboardInterrupt):
        run(folder, local)
    assert open_store(local).info().checksum == before and "manual.PDF" in held(local)
    monkeypatch.setattr(update, "read_document", real)
    assert counts(run(folder, local)) == (2, 4, 1)
    assert set(held(local)) >= {"a.txt", "b.txt"} and "manual.PDF" not in held(local)


def test_a_document_is_found_by_its_words_and_by_a_filter_of_its_file(folder, local):
    run(folder, local)

    def found(query, **filter):
        hits = open_store(local).search([Query(query)], 10, SearchParams(filter=filter))[0].hits
        return [hit.passage.meta["file"] for hit in hits]

    assert found("paint the bridge") == ["notes.txt"]
    assert found("device", file=("manual.PDF",)) == ["manual.PDF"]
    assert found("device", file=("notes.txt",)) == []


@pytest.mark.slow
def test_killed_at_any_moment_and_given_again_it_ends_complete(folder, tmp_path, local):
    command = [sys.executable, "-m", "convqa", "index", str(folder), "--collection", local]
    for number in range(40):
        (folder / f"{number}.txt").write_text(f"The text of document {number}. " * 500)

    def killed(after):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            time.sleep(after)
            process.kill()

    start = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    seconds = time.monotonic() - start
    shutil.rmtree(local)
    for part in range(1, 10):
        killed(seconds * part / 10)
    subprocess.run(command, check=True, capture_output=True)
    assert open_store(local).info().checksum == run(folder, str(tmp_path / "other")).info.checksum
    for number in range(0, 40, 2):
        (folder / f"{number}.txt").write_text(f"The text of document {number} has changed. " * 500)
        (folder / f"{number + 1}.txt").unlink()
    for part in range(1, 10):
        killed(seconds * part / 10)
    subprocess.run(command, check=True, capture_output=True)
    assert open_store(local).info().checksum == run(folder, str(tmp_path / "more")).info.checksum
