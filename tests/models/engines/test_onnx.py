"""Graphs on ONNX Runtime: what is refused, and what the library below must not do."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from convqa.workers.stopping import Abandoned, until


def test_nothing_is_noted_for_anybody(tmp_path):
    code = "from convqa.models import load_encoder; load_encoder('encoder').encode(['Who wrote Faust?'])"
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    environment.pop("ORT_DISABLE_TELEMETRY", None)

    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []


def test_a_batch_stops_within_if_nobody_waits(monkeypatch):
    from convqa.models import load_reader

    reader = load_reader("reader")
    checks = []

    def is_stopped():
        checks.append(1)
        return len(checks) > 3

    pairs = [(f"Who wrote number {number}?", "Goethe wrote Faust.") for number in range(100)]
    with pytest.raises(Abandoned), until(is_stopped):
        reader.read(pairs, 5)
    assert 3 < len(checks) <= 100
    assert reader.read(pairs[:1], 5)[0].spans
