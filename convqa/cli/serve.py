"""``convqa serve``: a page to talk to, and the API behind it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated

import typer

from convqa.cli.app import command
from convqa.cli.options import (
    AllowDownload,
    Collection,
    Device,
    LlmModel,
    LlmName,
    LlmRole,
    Precision,
    Settings,
    given,
    llm_of,
    options_of,
    parsed,
)
from convqa.errors import InputError


@command
def serve(
    pipeline: Annotated[
        list[str] | None, typer.Option("--pipeline", help="A shipped pipeline, or a YAML file's path; may be repeated.")
    ] = None,
    collection: Collection = None,
    settings: Settings = None,
    llm: LlmName = None,
    llm_model: LlmModel = None,
    llm_role: LlmRole = None,
    device: Device = "auto",
    precision: Precision = "auto",
    host: Annotated[str | None, typer.Option(help="The address to listen on; 127.0.0.1 if not named.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="8000 if not named; 0: any free port.")] = None,
    config: Annotated[
        str | None,
        typer.Option("--config", help="A YAML file (docs/reference/server.md), or the name of one in configs/server."),
    ] = None,
    without_keys: Annotated[
        bool, typer.Option("--without-keys", help="Let anybody ask who reaches a host beyond this machine.")
    ] = False,
    allow_download: AllowDownload = False,  # noqa: ARG001 - the option itself permits
) -> None:
    """Answer in the browser, and over HTTP: an API of its own, and OpenAI's for chat clients.

    The port opens when everything is loaded. Ctrl-C or SIGTERM lets what was asked be answered, and ends.
    """
    if missing := [name for name in ("fastapi", "uvicorn", "limits") if importlib.util.find_spec(name) is None]:
        raise InputError(f"convqa serve needs {', '.join(missing)}: pip install 'convqa[server]'.")
    from convqa.server.config import Served, ServerConfig, read_config
    from convqa.server.run import run

    base = read_config(config) if config else ServerConfig()
    changes = given(collection=collection, host=host, port=port, without_keys=without_keys or None)
    if pipeline:
        served = {Path(name).stem: Served(pipeline=name) for name in pipeline}
        if len(served) < len(set(pipeline)):
            raise InputError(
                "--pipeline: two files have the same name; clients tell pipelines apart by it. Rename one."
            )
        changes["pipelines"] = served
    model, options = llm_of(llm, llm_model, llm_role), options_of(device, precision)
    run(base.model_copy(update=changes).checked(), parsed(settings), model, options)
