"""The command line: parses, calls, prints. Heavy imports wait until a command needs them."""

from __future__ import annotations

from convqa.cli.app import main

__all__ = ["main"]
