"""Fixtures that every test may use. No test writes into the home folder or asks the network."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"


@pytest.fixture(autouse=True)
def _private_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Home and cache are folders of the test's own."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))


@pytest.fixture
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture
def data() -> Path:
    """The real data beside the checkout; without it the test is skipped."""
    if not DATA.is_dir():
        pytest.skip(f"the real data is not beside the checkout ({DATA.name})")
    return DATA


@pytest.fixture
def example() -> Path:
    """The bundled example: 32 conversations of QReCC's TREC part with 326 passages."""
    return ROOT / "examples" / "qrecc-trec"
