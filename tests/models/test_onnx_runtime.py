"""Graphs on ONNX Runtime: what is refused, and what the library below must not do."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tokenizers import Tokenizer

from convqa.errors import InputError
from convqa.models import load_encoder
from convqa.models.folder import write_folder
from convqa.models.source import SHIPPED, find_model


def test_nothing_is_noted_for_anybody(tmp_path):
    code = "from convqa.models import load_encoder; load_encoder('encoder').encode(['Who wrote Faust?'])"
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    environment.pop("ORT_DISABLE_TELEMETRY", None)

    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def folder(tmp_path):
    """A function that copies a shipped model, with another tokenizer or other fields in its manifest."""

    def made(name="encoder", tokenizer=None, **fields):
        source = find_model(name)
        about = source.manifest.model_dump(exclude={"format", "files"}) | fields
        files = {
            "model.onnx": source.path / "model.onnx",
            "tokenizer.json": tokenizer or source.path / "tokenizer.json",
        }
        write_folder(tmp_path / "made", about, files)
        return str(tmp_path / "made")

    return made


def test_a_tokenizer_of_another_model_is_refused(folder):
    tokenizer = Tokenizer.from_file(str(SHIPPED / "encoder" / "tokenizer.json"))
    tokenizer.add_tokens(["zeppelinesque"])
    larger = tokenizer.to_str().encode()
    with pytest.raises(InputError, match=r"tokenizer\.json: it has 30523 tokens; the graph in model\.onnx cannot run"):
        load_encoder(folder(tokenizer=larger))


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        (
            "encoder",
            {"dimension": 5},
            r"graph makes an array \(1, 384\) of one sequence; the manifest wants \(1, 5\)",
        ),
        ("encoder", {"max_tokens": 600}, r"convqa\.json: max_tokens: found 600; the graph in model\.onnx cannot run"),
        (
            "resolver",
            {"kind": "encoder", "dimension": 384},
            r"graph makes an array .*; the manifest wants \(1, 384\)",
        ),
    ],
    ids=["dimension", "length", "kind"],
)
def test_a_graph_that_is_not_the_manifests_is_refused(folder, name, fields, message):
    with pytest.raises(InputError, match=message):
        load_encoder(folder(name, **fields))
