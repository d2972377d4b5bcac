"""What can be downloaded: the shipped list, and files of one's own."""

from __future__ import annotations

import re

import pytest

from convqa.errors import InputError
from convqa.tasks.downloads import Download, downloads

FOLDER = ("questions.json", "questions-rewritten.json", "ground-truth.json", "passages.jsonl")
MADE = {
    **dict.fromkeys(("inscit", "clapnq", "mtrag_un"), FOLDER), "qrecc_dev": ("dev-turns.json",), "unzip": ("dev.json",),
}  # fmt: skip
"""What the converters of training write."""


def test_mrqa_is_whole():
    parts = {part: downloads("mrqa", part) for part in ("train", "in-domain", "out-of-domain")}
    parts = {part: {name: one.files[0] for name, one in sets.items()} for part, sets in parts.items()}
    every = [one for found in parts.values() for one in found.values()]
    assert len(every) == len({one.checksum for one in every}) == len({one.url for one in every}) == 18
    for found in parts.values():
        assert [one.file for one in found.values()] == [f"{name}.jsonl.gz" for name in found] and len(found) == 6
    root = "https://s3.us-east-2.amazonaws.com/mrqa/release/v2"
    assert parts["train"]["NaturalQuestions"].url == f"{root}/train/NaturalQuestionsShort.jsonl.gz"
    assert parts["in-domain"]["SQuAD"] == Download(
        file="SQuAD.jsonl.gz",
        url=f"{root}/dev/SQuAD.jsonl.gz",
        checksum="md5:05f3f16c5c31ba8e46ff5fa80647ac46",
    )
    assert parts["out-of-domain"]["BioASQ"].url == "http://participants-area.bioasq.org/MRQA2019/"


@pytest.mark.parametrize("what", ["conversations", "training"])
def test_what_is_shipped_is_pinned_and_has_a_licence(what):
    for name, one in downloads(what, "all").items():
        assert one.licence, name
        assert one.files or one.missing, name
        for file in one.files:
            commit = re.match(r"https://raw\.githubusercontent\.com/[\w-]+/[\w.-]+/[0-9a-f]{40}/", file.url)
            assert commit or file.checksum, file.url


def test_the_sets_are_those_of_the_experiments():
    sets = downloads("conversations", "all")
    assert [*sets] == ["inscit_dev", "cast2020", "clapnq_dev", "mtrag_un", "or_sharc_dev", "qrecc_trec_sample"]
    assert [one.folder for one in sets.values()] == [*sets]
    assert [name for name, one in sets.items() if one.missing] == ["cast2020"]


def test_the_trainings_files_are_all_there_or_named():
    from recipes import conditions, reader, rewrites, talks

    needed = {
        *rewrites.FILES, *reader.FILES.values(), *talks.NEEDED, conditions.DEV, conditions.OPEN,
    }  # fmt: skip
    sets = downloads("training", "all")
    come = {file.file for one in sets.values() for file in one.files}
    made = {f"{one.folder}/{name}" for one in sets.values() if one.convert for name in MADE[one.convert]}
    assert needed - come - made == {"qrecc/train-rewrites-4k.jsonl", "wiki/summaries-en.json"}
    for name in needed - come - made:
        assert any(name in (one.missing or "") for one in sets.values())


def test_the_converters_are_those_of_the_lists():
    from convqa.tasks.published import CONVERTERS

    sets = [one for name in ("conversations", "training") for one in downloads(name, "all").values()]
    assert {one.convert for one in sets if one.convert} == CONVERTERS.keys()


def test_only_some():
    assert [*downloads("mrqa", "train", ["SQuAD", "HotpotQA"])] == ["SQuAD", "HotpotQA"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("mrka", "train"),
            r"download: unknown name 'mrka'\. Did you mean 'mrqa'\? Expected one of conversations, mrqa, training",
        ),
        (("../mrqa", "train"), "unknown name '../mrqa'"),
        (("mrqa", "dev"), "unknown part 'dev'; expected train, in-domain, out-of-domain"),
        (("mrqa", "train", ["DROP"]), "--only DROP: unknown set of train; expected SQuAD, "),
        (("none.yaml", "train"), "list of downloads none.yaml cannot be read"),
    ],
)
def test_names_that_are_not_there(arguments, said):
    with pytest.raises(InputError, match=said):
        downloads(*arguments)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[", "is not valid YAML"),
        ("", "the record: expected an object, got None"),
        ("train: {}", "train: is empty"),
        ("train: {A: {files: [{file: a, url: 'http://x'}]}}", "train.A.files.0..checksum: is missing"),
        (
            "train: {A: {files: [{file: ../a, url: 'http://x', checksum: '0'}]}}",
            "train.A.files.0..file: expected .*, got '../a'.*checksum: expected",
        ),
        (
            "train: {A: {files: [{file: a, url: 'file:///x', checksum: '0'}]}}",
            "train.A.files.0..url: expected .*, got 'file:///x'",
        ),
        ("train: {A: {files: [], folder: ../a}}", "train.A.folder: expected .*, got '../a'"),
        ("train: {A: {files: [{file: a/../b, url: 'http://x', checksum: null}]}}", "file: expected .*, got 'a/../b'"),
        ("train: {A: {files: [{file: /a, url: 'http://x', checksum: null}]}}", "file: expected .*, got '/a'"),
        ("train: {A: {files: [{file: a, sha: 1}]}}", "train.A.files.0..sha: unknown field"),
    ],
)
def test_a_file_of_ones_own_with_a_mistake(tmp_path, text, said):
    path = tmp_path / "own.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=f"own.yaml.*{said}"):
        downloads(str(path), "train")
