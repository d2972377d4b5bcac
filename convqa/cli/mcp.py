"""``convqa mcp``: a collection as tools for agents."""

from __future__ import annotations

import importlib.util
import os
from contextlib import redirect_stdout
from sys import stderr
from typing import Annotated

import typer

from convqa.cli.app import command
from convqa.cli.options import AllowDownload, Collection, Device, PipelineName, Precision, Settings, options_of, parsed
from convqa.errors import InputError


@command
def mcp(
    pipeline: PipelineName = "talk",
    collection: Collection = None,
    settings: Settings = None,
    device: Device = "auto",
    precision: Precision = "auto",
    http: Annotated[bool, typer.Option("--http", help="Listen for streamable HTTP at /mcp instead of stdio.")] = False,
    host: Annotated[str, typer.Option(help="With --http: the address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="With --http; 0: any free port.")] = 8000,
    allow_download: AllowDownload = False,  # noqa: ARG001 - the option itself permits
) -> None:
    """Offer a collection to agents by the Model Context Protocol: the tools ask, search and passage.

    An agent's program starts it, and speaks with it over standard input and output. With --http it listens; whoever may
    reach it from elsewhere needs the key that the environment has as CONVQA_MCP_KEY.
    """
    if importlib.util.find_spec("mcp") is None:
        raise InputError("convqa mcp needs the package mcp: pip install 'convqa[mcp]'.")
    from convqa.qa import load
    from convqa.server.config import ServerConfig
    from convqa.server.listening import bound, serve
    from convqa.server.mcp import KEY, Keyed, create_server

    key, options = os.environ.get(KEY, ""), options_of(device, precision)
    if not http:
        # Standard output belongs to the protocol.
        with redirect_stdout(stderr):
            server = create_server(load(pipeline, collection, parsed(settings), options=options), pipeline)
        server.run("stdio")
        return
    if not key and not ServerConfig(host=host).is_local:
        raise InputError(f"host {host}: others could reach the server, and it has no key. Set {KEY} to one.")
    with bound(host, port) as listener:
        server = create_server(load(pipeline, collection, parsed(settings), options=options), pipeline)
        app = server.streamable_http_app(host=host)
        serve(Keyed(app, key) if key else app, listener, "/mcp")
