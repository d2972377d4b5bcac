"""A small real input, and a way to call the command line as a user does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from convqa.cli import application

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "qrecc-trec"

PIPELINE = """
extends: copy-bm25
stations: {rewriter: slow_for_test.Slow}
"""
SLOW = """
import os, time
from convqa.components.base import Rewriter
from convqa.components.members import member
from convqa.domain import Query, Rewrite

@member
class Slow(Rewriter):
    def rewrite(self, turn):
        time.sleep(float(os.environ.get("SLOW_SECONDS", "0")))
        if os.environ.get("FAIL_ON") and os.environ["FAIL_ON"] in turn.question:
            raise ValueError("told to fail")
        return Rewrite(turn.question, (Query(turn.question),))
"""


@pytest.fixture(scope="session")
def indexed(tmp_path_factory):
    """The example's passages, indexed once for all tests."""
    from convqa.indexing import index_sources

    folder = tmp_path_factory.mktemp("indexed") / "collection"
    index_sources([EXAMPLE / "passages.jsonl.gz"], str(folder))
    return folder


@pytest.fixture(scope="session")
def made_run(tmp_path_factory, indexed):
    """A run over the example's first three conversations; its input lies beside it. No test changes it."""
    folder = tmp_path_factory.mktemp("made")
    command = ["run", make_small(folder), folder / "a run", "--collection", indexed, "--pipeline", "copy-bm25"]
    done = CliRunner().invoke(application(), [str(argument) for argument in command])
    assert done.exit_code == 0, done.output
    return folder / "a run"


@pytest.fixture
def small(tmp_path):
    """An input directory with the example's first three conversations, without passages."""
    return make_small(tmp_path)


def make_small(parent):
    folder = parent / "input"
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


@pytest.fixture
def slow(tmp_path):
    """A pipeline whose rewriter takes the time that SLOW_SECONDS says and fails where FAIL_ON says."""
    (tmp_path / "slow_for_test.py").write_text(SLOW)
    (tmp_path / "slow.yaml").write_text(PIPELINE)
    return tmp_path / "slow.yaml"
