"""What can be downloaded: the shipped list, and files of one's own."""

from __future__ import annotations

import pytest

from convqa.errors import InputError
from convqa.tasks.downloads import Download, downloads


def test_mrqa_is_whole():
    parts = {part: downloads("mrqa", part) for part in ("train", "in-domain", "out-of-domain")}
    # The sums of the README's tables.
    assert {part: sum(one.examples for one in found.values()) for part, found in parts.items()} == {
        "train": 516_819, "in-domain": 58_224, "out-of-domain": 9_633,
    }  # fmt: skip
    every = [one for found in parts.values() for one in found.values()]
    assert len(every) == len({one.md5 for one in every}) == len({one.url for one in every}) == 18
    for found in parts.values():
        assert [one.file for one in found.values()] == [f"{name}.jsonl.gz" for name in found] and len(found) == 6
    root = "https://s3.us-east-2.amazonaws.com/mrqa/release/v2"
    assert parts["train"]["NaturalQuestions"].url == f"{root}/train/NaturalQuestionsShort.jsonl.gz"
    assert parts["in-domain"]["SQuAD"] == Download(
        file="SQuAD.jsonl.gz",
        url=f"{root}/dev/SQuAD.jsonl.gz",
        md5="05f3f16c5c31ba8e46ff5fa80647ac46",
        examples=10_507,
    )
    assert parts["out-of-domain"]["BioASQ"].url == "http://participants-area.bioasq.org/MRQA2019/"


def test_only_some():
    assert [*downloads("mrqa", "train", ["SQuAD", "HotpotQA"])] == ["SQuAD", "HotpotQA"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("mrka", "train"), "mrka: there is nothing of this name; wanted: mrqa. Did you mean 'mrqa'"),
        (("../mrqa", "train"), "there is nothing of this name"),
        (("mrqa", "dev"), "no part 'dev'; wanted: train, in-domain, out-of-domain"),
        (("mrqa", "train", ["DROP"]), "--only DROP: train has no such set; wanted: SQuAD, "),
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
        ("", "the record: found None"),
        ("train: {}", "train: is empty"),
        ("train: {A: {file: a, url: 'http://x', examples: 1}}", "train.A.md5: is missing"),
        ("train: {A: {file: ../a, url: 'http://x', md5: '0', examples: 1}}", "train.A.file: found '../a'.*md5: found"),
        ("train: {A: {file: a, url: 'file:///x', md5: '0', examples: 1}}", "train.A.url: found 'file:///x'"),
        ("train: {A: {file: a, sha: 1}}", "train.A.sha: is not known here"),
    ],
)
def test_a_file_of_ones_own_with_a_mistake(tmp_path, text, said):
    path = tmp_path / "own.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=f"own.yaml.*{said}"):
        downloads(str(path), "train")
