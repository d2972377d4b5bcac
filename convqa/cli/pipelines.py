"""``convqa check`` and ``convqa show``: inspect pipelines without running them."""

from __future__ import annotations

from typing import Annotated, Literal

import typer
from typer import Argument, Option

from convqa.cli.app import command
from convqa.cli.options import Collection, Settings, parse_settings
from convqa.errors import InputError


@command
def check(
    pipelines: Annotated[list[str], Argument(metavar="PIPELINE...", help="Names of shipped pipelines, or YAML files.")],
    settings: Settings = None,
) -> int:
    """Check pipelines for mistakes without running them.

    Reports every mistake with its station and parameter. Does not open models or collections. Also lists the
    environment variables, addresses and modules of yours in a pipeline, because a pipeline can send any variable to
    any address.
    """
    from convqa.pipeline.load import load
    from convqa.pipeline.show import reached

    changes = parse_settings(settings)
    code = 0
    for name in pipelines:
        try:
            document = load(name, changes).document
        except InputError as error:
            typer.echo(str(error), err=True)
            code = 2
        else:
            typer.echo("\n  ".join([f"{name}: ok", *reached(document)]))
    return code


@command
def show(
    pipeline: Annotated[str, Argument(metavar="PIPELINE", help="Name of a shipped pipeline, or a YAML file.")],
    settings: Settings = None,
    form: Annotated[
        Literal["yaml", "haystack"],
        Option("--as", help="Output format. haystack is YAML that Haystack itself can load."),
    ] = "yaml",
    collection: Collection = None,
) -> None:
    """Show a pipeline with extends and --set applied."""
    from convqa.indexing import collection_of
    from convqa.pipeline.build import build
    from convqa.pipeline.merge import resolve

    if collection is not None and form != "haystack":
        raise InputError("--collection requires --as haystack; yaml contains no collection.")
    document = resolve(pipeline, parse_settings(settings))
    built = build(document, pipeline)
    if form == "haystack":
        url = None if collection is None else collection_of(collection)
        typer.echo(built.to_haystack(url).rstrip())
    else:
        typer.echo(document.to_yaml().rstrip())
