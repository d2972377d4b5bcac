"""The command line: parses, calls, prints. Heavy imports wait until a command needs them."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typer import Typer


_COMMANDS = (
    "ablate ask collections compare download evaluate export feedback index mcp models pipelines run serve train"
)
"""The modules of the commands."""


def application() -> Typer:
    """Return the application with all its commands."""
    from convqa.cli.app import app

    for module in _COMMANDS.split():
        importlib.import_module(f"convqa.cli.{module}")  # registers its commands
    return app


def main() -> None:
    """Entry point of the ``convqa`` script."""
    try:
        application()()
    except KeyboardInterrupt:  # while a command is still being imported
        sys.exit(130)
