"""What a reader trains on, validates on and is reported on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from convqa.errors import InputError
from convqa.tasks.mrqa.formats import read_squad
from recipes import reader
from recipes.reader import make, split, squad

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"


@pytest.fixture(scope="session")
def written():
    if not DATA.is_dir():
        pytest.skip("the real data is not beside the checkout")
    return split(DATA)


def count(contexts):
    return sum(len(context.questions) for context in contexts)


def test_the_written_split(written):
    assert {name: count(contexts) for name, contexts in written.training.items()} == TRAINED
    assert {name: count(contexts) for name, contexts in written.validation.items()} == {
        "new-wiki": 648, "reddit": 490, "squad2": 402,
    }  # fmt: skip
    assert {name: count(contexts) for name, contexts in written.reported.items()} == {
        "new-wiki": 619, "reddit": 466, "squad2": 3250,
    }  # fmt: skip


TRAINED = {"new-wiki": 6671, "reddit": 8791, "squad2": 2426}
"""Questions; those of contexts that share a sentence with what is measured on are left out."""


def test_no_title_and_no_text_of_what_trains_is_measured_on(written):
    held = [one for sets in (written.validation, written.reported) for some in sets.values() for one in some]
    texts = {one.text for one in held}
    articles = {one.title for one in held if one.title != "Filtered_Reddit_Comments"}
    for contexts in written.training.values():
        for one in contexts:
            assert one.text not in texts
            assert one.title not in articles


def test_a_folder_that_lacks_files_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"lacks squad-format/squad2-dev-half\.json, "):
        split(tmp_path)


def test_what_is_written_is_read_alike(written, tmp_path, monkeypatch):
    for name, contexts in written.validation.items():
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(squad(contexts)))
        assert read_squad(path) == contexts
    monkeypatch.setattr(reader, "split", lambda _: written)
    names = [name for name in make(DATA) if name.startswith("train")]
    assert names[::3] == ["train-1-squad2.json", "train-4-squad2.json", "train-7-reddit.json"]
