"""convqa mcp: what it refuses. What it serves is in tests/server/test_mcp.py."""

from __future__ import annotations

import pytest

pytest.importorskip("mcp")


def test_mistakes_are_told_before_anything_is_served(call, tmp_path):
    code, out, err = call("mcp", "--collection", tmp_path / "nothing")
    assert code == 2 and "nothing" in err and out == ""
    code, out, err = call("mcp", "--pipeline", "nothing")
    assert code == 2 and "unknown name" in err and out == ""


def test_without_the_package_it_says_what_to_install(call, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    code, _, err = call("mcp")
    assert code == 2 and "pip install 'convqa[mcp]'" in err
