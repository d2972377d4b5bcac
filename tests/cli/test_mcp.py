"""convqa mcp: what it refuses. What it serves is in tests/server/test_mcp.py."""

from __future__ import annotations

import socket

import pytest

pytest.importorskip("mcp")


def test_a_host_that_others_reach_wants_a_key(call, monkeypatch):
    monkeypatch.delenv("CONVQA_MCP_KEY", raising=False)
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        code, out, err = call("mcp", "--http", "--host", host, "--port", "0")
        assert code == 2 and "has no key. Set CONVQA_MCP_KEY" in err and out == ""


def test_mistakes_are_told_before_anything_is_served(call, tmp_path, monkeypatch):
    code, out, err = call("mcp", "--collection", tmp_path / "nothing")
    assert code == 2 and "nothing" in err and out == ""
    code, out, err = call("mcp", "--pipeline", "nothing")
    assert code == 2 and "unknown name" in err and out == ""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, _, err = call("mcp", "--http", "--port", taken.getsockname()[1])
        assert code == 2 and "cannot listen on" in err


def test_without_the_package_it_says_what_to_install(call, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    code, _, err = call("mcp")
    assert code == 2 and "pip install 'convqa[mcp]'" in err
