"""``convqa mcp``: serve a collection to agents as tools."""

from __future__ import annotations

import importlib.util
import os
from contextlib import redirect_stdout
from sys import stderr
from typing import Annotated

from typer import Option

from convqa.cli.app import command
from convqa.cli.options import PipelineName, PipelineOptions
from convqa.errors import InputError


@command
def mcp(
    pipeline: PipelineName = "talk",
    *,
    options: PipelineOptions,
    http: Annotated[bool, Option("--http", help="Serve streamable HTTP at /mcp instead of stdio.")] = False,
    host: Annotated[str, Option(help="Address to bind to, with --http.")] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="Port to bind to, with --http. 0: any free port.")] = 8000,
) -> None:
    """Serve the tools ask, search and passage to agents (MCP).

    Speaks the Model Context Protocol on standard input and output, so an agent starts it as a subprocess. With --http
    and a host beyond this machine, clients need the key in the environment variable CONVQA_MCP_KEY.
    """
    if importlib.util.find_spec("mcp") is None:
        raise InputError("convqa mcp needs the package mcp: pip install 'convqa[mcp]'.")
    from convqa.server.config import ServerConfig
    from convqa.server.listening import bound, serve
    from convqa.server.mcp import KEY, KeyGuard, create_server

    key = os.environ.get(KEY, "")
    if not http:
        # Standard output belongs to the protocol.
        with redirect_stdout(stderr):
            server = create_server(options.load(pipeline), pipeline)
        server.run("stdio")
        return
    if not key and not ServerConfig(host=host).is_local:
        raise InputError(f"host {host}: other machines can reach the server, but it has no key. Set {KEY}.")
    with bound(host, port) as listener:
        server = create_server(options.load(pipeline), pipeline)
        app = server.streamable_http_app(host=host)
        serve(KeyGuard(app, key) if key else app, listener, "/mcp")
