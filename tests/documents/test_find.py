"""Documents among files, folders and what is neither."""

from __future__ import annotations

import os

import pytest

from convqa.documents.find import described, find_documents
from convqa.documents.formats import document_formats
from convqa.errors import InputError

FORMATS = document_formats()


def found(*sources):
    return find_documents(sources, FORMATS).files


def test_documents_are_found_at_any_depth_and_named_by_their_paths(folder):
    files = found(folder)
    assert list(files) == [
        "manual.PDF", "notes.txt", "sub/coffee.html", "sub/deep/handbook.md", "sub/rules.docx",
    ]  # fmt: skip
    assert files["sub/rules.docx"].data() == (folder / "sub" / "rules.docx").read_bytes()
    assert list(found(folder / "notes.txt", folder / "sub" / "deep")) == ["handbook.md", "notes.txt"]


def test_folders_and_files_of_passages_hold_no_documents(folder, tmp_path):
    (folder / "sub" / "p.jsonl").write_text("{}")
    assert found(folder / "sub") == {} == found(folder / "sub" / "p.jsonl")


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        (["notes.txt", "nowhere.pdf"], "nowhere.pdf: no such file or folder"),
        (["notes.txt", "p.jsonl"], r"p\.jsonl: passages mixed with documents; index them one after another"),
        (["notes.txt", "other/notes.txt"], r"notes\.txt: two documents have the same name"),
        (["empty"], r"empty: no passages and no documents.*\*\.pdf.*\*\.jsonl"),
    ],
)
def test_what_cannot_be_told_apart_or_found_is_refused(folder, sources, message):
    (folder / "other").mkdir()
    (folder / "empty").mkdir()
    (folder / "other" / "notes.txt").write_text("Other notes.")
    (folder / "p.jsonl").write_text("{}")
    with pytest.raises(InputError, match=message):
        found(*(folder / source for source in sources))


def test_files_of_other_kinds_are_counted(tmp_path):
    for name in ("a.txt", "b.doc", "c.DOC", "d.zip", "README", ".hidden", "meta.yaml"):
        (tmp_path / name).write_text("team: law")
    documents, skipped, _ = find_documents([tmp_path], FORMATS)
    assert list(documents) == ["a.txt"]
    assert skipped == {".doc": 2, ".zip": 1, "without extension": 1}
    assert described(skipped) == "2 .doc, 1 .zip, 1 without extension"


def test_special_files_and_links_that_are_broken_or_lead_out_are_skipped(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("Secret.")
    (folder / "a.txt").write_text("Text.")
    (folder / "same.txt").symlink_to(folder / "a.txt")
    (folder / "out.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "broken.txt").symlink_to(folder / "nowhere.txt")
    os.mkfifo(folder / "pipe.txt")
    documents, skipped, _ = find_documents([folder], FORMATS)
    assert list(documents) == ["a.txt", "same.txt"]
    assert skipped == {"links out of the folder": 1, "broken links": 1, "special files": 1}
    with pytest.raises(InputError, match=r"pipe\.txt is not a regular file"):
        found(folder / "pipe.txt")


def test_a_file_of_another_kind_is_named_with_the_kinds_that_are_read(tmp_path):
    letter = tmp_path / "letter.doc"
    letter.write_bytes(b"\xd0\xcf\x11\xe0")
    with pytest.raises(InputError, match=r"letter\.doc: documents of the type \.doc .* Save it as \.docx.*\*\.docx"):
        found(letter)


def test_a_folder_gives_meta_to_its_documents_and_those_below(tmp_path):
    (tmp_path / "law" / "new").mkdir(parents=True)
    (tmp_path / "meta.yaml").write_text("team: all\nyear: 2024\n")
    (tmp_path / "law" / "meta.yaml").write_text("team: law\nvalid: 2026-05-01\ntags: [a, b]\nnested: {a: 1}\n")
    for name in ("a.txt", "law/b.txt", "law/new/c.txt"):
        (tmp_path / name).write_text("Text.")
    meta = {name: dict(file.meta) for name, file in found(tmp_path).items()}
    law = {"team": "law", "year": 2024, "valid": "2026-05-01", "tags": ["a", "b"]}
    assert meta == {"a.txt": {"team": "all", "year": 2024}, "law/b.txt": law, "law/new/c.txt": law}
    (tmp_path / "law" / "meta.yaml").write_text("team: [law")
    documents, _, unread = find_documents([tmp_path], FORMATS)
    assert {name: dict(file.meta) for name, file in documents.items()} == dict.fromkeys(meta, meta["a.txt"])
    assert "not valid YAML" in unread["law/meta.yaml"]
    (tmp_path / "law" / "meta.yaml").write_text("- a list")
    assert "expected a mapping" in find_documents([tmp_path], FORMATS).unread["law/meta.yaml"]
