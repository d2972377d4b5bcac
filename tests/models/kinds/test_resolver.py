"""The resolver that ships, and folders whose manifest is not that of their graph."""

from __future__ import annotations

import json
import shutil

import pytest

from convqa.errors import InputError
from convqa.models import load_resolver
from convqa.models.kinds.resolver_input import Past
from convqa.models.source import SHIPPED

HISTORY = [Past("Who is Ada Lovelace?", "A mathematician.")]


@pytest.fixture
def copied(tmp_path):
    return shutil.copytree(SHIPPED / "resolver", tmp_path / "copied")


def change(folder, **fields):
    file = folder / "convqa.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **fields}))


def test_it_writes_the_question_out():
    assert "Lovelace" in load_resolver("resolver").resolve([("When was she born?", HISTORY)])[0].text()


def test_the_longest_sequence_runs():
    long = [Past("Who is it? " * 40, "Nobody knows that. " * 40)] * 9
    assert load_resolver("resolver").resolve([("What else? " * 90, long)])[0].terms


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"settings": {}}, "settings: patterns: is missing"),
        ({"settings": {"patterns": "{}"}}, "settings: patterns: expected .*got '{}'"),
    ],
)
def test_a_manifest_that_is_not_the_graphs_is_refused_at_load(copied, fields, message):
    change(copied, **fields)
    with pytest.raises(InputError, match=message):
        load_resolver(str(copied))
