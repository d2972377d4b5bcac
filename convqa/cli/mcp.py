"""``convqa mcp``: serve a collection to agents as tools."""

from __future__ import annotations

import importlib.util
from contextlib import redirect_stdout
from sys import stderr

from convqa.cli.app import command
from convqa.cli.options import PipelineName, PipelineOptions
from convqa.errors import InputError


@command
def mcp(pipeline: PipelineName = "talk", *, options: PipelineOptions) -> None:
    """Serve the tools ask, search and passage to agents (MCP).

    Speaks the Model Context Protocol on standard input and output, so an agent starts it as a subprocess.
    """
    if importlib.util.find_spec("mcp") is None:
        raise InputError("convqa mcp needs the package mcp: pip install 'convqa[mcp]'.")
    from convqa.server.mcp import create_server

    # Standard output belongs to the protocol.
    with redirect_stdout(stderr):
        server = create_server(options.load(pipeline), pipeline)
    server.run("stdio")
