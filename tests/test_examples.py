"""The examples for researchers run, over a part of the bundled input."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # the notebook's libraries have their own
def test_the_tour_runs(tmp_path, monkeypatch):
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = nbformat.read(EXAMPLES / "tour.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    texts = ["".join(output.get("text", "") for output in cell.get("outputs", ())) for cell in notebook.cells]
    assert any("Marbury" in text for text in texts)
    assert any("expansion done" in text for text in texts)
    assert any("MRR" in text and "p = " in text for text in texts)
    assert any("image/png" in output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", ()))


@pytest.mark.slow
def test_pyterrier_takes_our_rewriters(tmp_path):
    command = [sys.executable, str(EXAMPLES / "pyterrier_rewriters.py"), "3"]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line.split() for line in made.stdout.strip().splitlines()]
    assert [line[0] for line in lines] == ["name", "copy", "expansion", "edit"]
    assert all(0 <= float(value) <= 1 for line in lines[1:] for value in line[1:])
