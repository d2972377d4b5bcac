"""``convqa serve``: serve a web page and an HTTP API."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated

import typer

from convqa.cli.app import command
from convqa.cli.options import LlmPipelineOptions, given
from convqa.errors import InputError


@command
def serve(
    pipeline: Annotated[
        list[str] | None, typer.Option("--pipeline", help="A shipped pipeline, or a YAML file's path; may be repeated.")
    ] = None,
    *,
    options: LlmPipelineOptions,
    host: Annotated[str | None, typer.Option(help="The address to listen on; 127.0.0.1 if not named.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="8000 if not named; 0: any free port.")] = None,
    config: Annotated[
        str | None,
        typer.Option("--config", help="A YAML file (docs/reference/server.md), or the name of one in configs/server."),
    ] = None,
    without_keys: Annotated[
        bool, typer.Option("--without-keys", help="Let anybody ask who reaches a host beyond this machine.")
    ] = False,
) -> None:
    """Answer in the browser, and over HTTP: an API of its own, and OpenAI's for chat clients.

    The port opens when everything is loaded. Ctrl-C or SIGTERM lets what was asked be answered, and ends.
    """
    if missing := [name for name in ("fastapi", "uvicorn", "limits") if importlib.util.find_spec(name) is None]:
        raise InputError(f"convqa serve needs {', '.join(missing)}: pip install 'convqa[server]'.")
    from convqa.server.config import Served, ServerConfig, read_config
    from convqa.server.run import run

    base = read_config(config) if config else ServerConfig()
    changes = given(collection=options.collection, host=host, port=port, without_keys=without_keys or None)
    if pipeline:
        served = {Path(name).stem: Served(pipeline=name) for name in pipeline}
        if len(served) < len(set(pipeline)):
            raise InputError("--pipeline: two files have the same name, which clients choose by. Rename one.")
        changes["pipelines"] = served
    settings = base.model_copy(update=changes).checked()
    run(settings, options.overrides, options.language_model(), options.models)
