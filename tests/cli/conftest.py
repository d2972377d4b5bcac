"""A small real input, and a way to call the command line as a user does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "qrecc-trec"


@pytest.fixture(scope="session")
def indexed(tmp_path_factory):
    """The example's passages, indexed once for all tests."""
    from convqa.indexing import index_sources

    folder = tmp_path_factory.mktemp("indexed") / "collection"
    index_sources([EXAMPLE / "passages.jsonl.gz"], str(folder))
    return folder


@pytest.fixture
def small(tmp_path):
    """An input directory with the example's first three conversations, without passages."""
    folder = tmp_path / "input"
    folder.mkdir()
    for name in ("questions.json", "ground-truth.json"):
        records = json.loads((EXAMPLE / name).read_text(encoding="utf-8"))
        kept = [record for record in records if record["Conversation_no"] <= 3]
        (folder / name).write_text(json.dumps(kept), encoding="utf-8")
    return folder


@pytest.fixture
def whole(tmp_path):
    """An input directory with the whole example."""
    folder = tmp_path / "whole"
    shutil.copytree(EXAMPLE, folder)
    return folder


@pytest.fixture
def process(tmp_path):
    """``process("run", ...)`` starts the command line as a process of its own."""
    started = []

    def start(*arguments, **environment):
        process = subprocess.Popen(
            [sys.executable, "-m", "convqa", *map(str, arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment},
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()
