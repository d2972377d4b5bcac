"""What can be downloaded: the shipped list, and files of one's own."""

from __future__ import annotations

import re

import pytest

from convqa.errors import InputError
from convqa.tasks.downloads import downloads

"""What the converters of training write."""


@pytest.mark.parametrize("what", ["conversations", "training"])
def test_what_is_shipped_is_pinned_and_has_a_licence(what):
    for name, one in downloads(what, "all").items():
        assert one.licence, name
        assert one.files or one.missing, name
        for file in one.files:
            commit = re.match(r"https://raw\.githubusercontent\.com/[\w-]+/[\w.-]+/[0-9a-f]{40}/", file.url)
            assert commit or file.checksum, file.url


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
        ("train: {A: {files: [{file: a/../b, url: 'http://x', checksum: null}]}}", "file: expected .*, got 'a/../b'"),
    ],
)
def test_a_file_of_ones_own_with_a_mistake(tmp_path, text, said):
    path = tmp_path / "own.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=f"own.yaml.*{said}"):
        downloads(str(path), "train")
