"""Graphs on ONNX Runtime: what is refused, and what the library below must not do."""

from __future__ import annotations

import os
import subprocess
import sys


def test_nothing_is_noted_for_anybody(tmp_path):
    code = "from convqa.models import load_encoder; load_encoder('encoder').encode(['Who wrote Faust?'])"
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    environment.pop("ORT_DISABLE_TELEMETRY", None)

    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []
