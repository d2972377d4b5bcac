"""Files of examples: their names, their records, and what is held out."""

from __future__ import annotations

import gzip
import json

import pytest

from convqa.errors import InputError
from convqa.models.kinds.resolver_input import Past
from convqa.training.examples import (
    REPORT,
    TRAIN,
    RewriteExample,
    files,
    read,
    required_files,
    sources,
)

GOOD = {"conversation": 1, "question": "q", "history": [{"question": "h"}], "rewrite": "r"}


def test_files_are_found_by_their_part_and_named_by_the_rest(tmp_path):
    names = "train.jsonl train-2.jsonl.gz report-a-b.json report.jsonl validation.txt training.jsonl reports.jsonl"
    for name in names.split():
        (tmp_path / name).write_text("x")
    assert [path.name for path in required_files(tmp_path, TRAIN).values()] == ["train-2.jsonl.gz", "train.jsonl"]
    assert {label: path.name for label, path in files(tmp_path, REPORT).items()} == {
        "a-b report": "report-a-b.json", "report": "report.jsonl",
    }  # fmt: skip
    (tmp_path / "train.json").write_text("x")
    with pytest.raises(InputError, match=r"train\.json and train\.jsonl have one name"):
        required_files(tmp_path, TRAIN)


def test_a_folder_without_examples_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"expected train\.jsonl or train-NAME\.jsonl, got neither"):
        required_files(tmp_path, TRAIN)
    with pytest.raises(InputError, match="none: no such folder"):
        files(tmp_path / "none", REPORT)


def test_records_are_read_plain_and_packed(tmp_path):
    text = json.dumps(GOOD) + "\n\n" + json.dumps(GOOD | {"conversation": "b"})
    (tmp_path / "a.jsonl").write_text(text, encoding="utf-8-sig")
    with gzip.open(tmp_path / "b.jsonl.gz", "wt") as file:
        file.write(text)
    first, second = read(tmp_path / "a.jsonl", RewriteExample)
    assert (first.conversation, second.conversation, first.history) == ("1", "b", [Past("h", "")])
    assert read(tmp_path / "b.jsonl.gz", RewriteExample) == [first, second]


@pytest.mark.parametrize(
    ("shape", "line", "said"),
    [
        (RewriteExample, "{", "line 2, column"),
        (RewriteExample, json.dumps(GOOD | {"history": []}), "line 2: history: is empty"),
        (RewriteExample, json.dumps(GOOD | {"history": [{"q": "x"}]}), "history[0].question: is missing"),
        (RewriteExample, json.dumps(GOOD | {"rewrite": ""}), "line 2: rewrite: is empty"),
        (RewriteExample, json.dumps(GOOD | {"x": 1}), "line 2: x: unknown field"),
        (RewriteExample, "[]", "line 2: the record: expected an object"),
    ],
)
def test_mistakes_are_named_with_their_line_and_field(tmp_path, shape, line, said):
    (tmp_path / "mine.jsonl").write_text(json.dumps(GOOD) + "\n" + line + "\n")
    with pytest.raises(InputError) as caught:
        read(tmp_path / "mine.jsonl", shape)
    assert said in str(caught.value) and "mine.jsonl" in str(caught.value)


def test_an_empty_and_a_missing_file_are_refused(tmp_path):
    (tmp_path / "mine.jsonl").write_text("\n\n")
    with pytest.raises(InputError, match=r"mine.jsonl: the file is empty; expected JSON lines of \{conversation"):
        read(tmp_path / "mine.jsonl", RewriteExample)
    with pytest.raises(InputError, match=r"none.jsonl: no such file; expected JSON lines of \{conversation"):
        read(tmp_path / "none.jsonl", RewriteExample)


def test_sources_are_those_of_the_folder(tmp_path):
    assert sources(tmp_path) == "- the user's own examples"
    (tmp_path / "sources.md").write_text("- a set\n")
    assert sources(tmp_path) == "- a set"
