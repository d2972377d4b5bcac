"""Benchmarks are scripts beside each other: they find one another through their folder."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    known = set(sys.modules)
    monkeypatch.syspath_prepend(FOLDER)
    yield
    # Their names are plain ones: no other test is to find them.
    for name in set(sys.modules) - known:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == FOLDER:
            del sys.modules[name]
