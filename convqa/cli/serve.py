"""``convqa serve``: serve a web page and an HTTP API."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated

from typer import Option

from convqa.cli.app import command
from convqa.cli.options import PipelineOptions, default_collection, given
from convqa.errors import InputError


@command
def serve(
    pipeline: Annotated[
        list[str] | None,
        Option("--pipeline", help="Name of a shipped pipeline, or a YAML file. Repeatable.", show_default="talk"),
    ] = None,
    *,
    options: PipelineOptions,
    host: Annotated[str | None, Option(help="Address to bind to.", show_default="127.0.0.1")] = None,
    port: Annotated[
        int | None, Option(min=0, max=65535, help="Port to bind to. 0: any free port.", show_default="8000")
    ] = None,
    config: Annotated[
        str | None,
        Option("--config", help="Settings: a file or name in configs/server (see docs/reference/server.md)."),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        Option(
            metavar="NAME",
            help="Also accept requests to this host name, such as host.docker.internal. Repeatable.",
        ),
    ] = None,
    without_keys: Annotated[
        bool, Option("--without-keys", help="Allow other machines to connect without a key.")
    ] = False,
) -> None:
    """Serve a web page and an HTTP API.

    The API includes an OpenAI-compatible endpoint for chat clients. The port opens once everything is loaded. Ctrl-C or
    SIGTERM stops the server after it has answered open requests.
    """
    missing = [name for name in ("fastapi", "uvicorn") if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(f"convqa serve needs {', '.join(missing)}: pip install 'convqa[server]'.")
    from convqa.server.app import run
    from convqa.server.config import ServedPipeline, ServerConfig, read_config

    base = read_config(config) if config else ServerConfig()
    collection = options.collection or base.collection or default_collection()
    changes = given(collection=collection, host=host, port=port, without_keys=without_keys or None)
    changes["hosts"] = [*base.hosts, *(allow_host or ())]
    if pipeline:
        served = {Path(name).stem: ServedPipeline(pipeline=name) for name in pipeline}
        if len(served) < len(set(pipeline)):
            advice = "Clients choose a pipeline by its name; rename one."
            raise InputError(f"--pipeline: two files have the same name. {advice}")
        changes["pipelines"] = served
    run(base.model_copy(update=changes).checked(), options.overrides, options.language_model(), options.models)
