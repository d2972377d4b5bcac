"""Every script explains itself."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
SCRIPTS = sorted(path for path in FOLDER.glob("*.py") if " = arguments(" in path.read_text(encoding="utf-8"))
OTHER_LANES = {"faiss", "torch", "transformers"}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_help_is_the_docstring(script, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [str(script), "--help"])
    try:
        with pytest.raises(SystemExit) as stopped:
            runpy.run_path(str(script), run_name="__main__")
    except ModuleNotFoundError as error:
        assert error.name in OTHER_LANES
    else:
        assert stopped.value.code == 0
        assert f"benchmarks/{script.name}" in capsys.readouterr().out
