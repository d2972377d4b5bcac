"""Small MRQA files, written as the task has them."""

from __future__ import annotations

import gzip
import json

import pytest


@pytest.fixture
def write(tmp_path):
    """``write("x.jsonl", record, ...)``: JSON lines; bytes are written as they are; ``packed``: in gzip."""

    def make(name, *lines, packed=False, end=b"\n"):
        data = b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines) + end
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(data) if packed else data)
        return path

    return make


@pytest.fixture
def predict(tmp_path):
    """``predict({qid: answer})``: a run folder."""

    def make(answers, name="run"):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "predictions.json").write_text(json.dumps(answers))
        return tmp_path / name

    return make
