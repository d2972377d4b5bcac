"""The command line: parses, calls, prints. Heavy imports wait until a command needs them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typer import Typer


def application() -> Typer:
    """Return the application with all its commands."""
    from convqa.cli import (  # noqa: F401 - importing registers the commands
        ablate,
        ask,
        chat,
        collections,
        compare,
        download,
        evaluate,
        export,
        index,
        mcp,
        merge,
        models,
        pipelines,
        report,
        run,
        serve,
        train,
        view,
    )
    from convqa.cli.app import app

    return app


def main() -> None:
    """Entry point of the ``convqa`` script."""
    try:
        application()()
    except KeyboardInterrupt:  # while a command is still being imported
        sys.exit(130)
