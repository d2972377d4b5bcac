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

    Reports every mistake with its node and parameter. Does not open models or collections. Also lists the environment
    variables and addresses in a pipeline, because a pipeline can send any variable to any address.
    """
    from convqa.pipeline.compose import compose
    from convqa.pipeline.load import wire
    from convqa.pipeline.show import reached

    changes = parse_settings(settings)
    code = 0
    for name in pipelines:
        try:
            made = wire(compose(name, changes), name)
        except InputError as error:
            typer.echo(str(error), err=True)
            code = 2
        else:
            typer.echo("\n  ".join([f"{name}: ok", *reached(made.document)]))
    return code


@command
def show(
    pipeline: Annotated[str, Argument(metavar="PIPELINE", help="Name of a shipped pipeline, or a YAML file.")],
    settings: Settings = None,
    form: Annotated[
        Literal["text", "mermaid", "yaml", "haystack"],
        Option("--as", help="Output format. haystack is YAML that Haystack itself can load."),
    ] = "text",
    collection: Collection = None,
) -> None:
    """Show a pipeline with extends, override and --set applied."""
    from convqa.indexing import collection_of
    from convqa.pipeline.compose import compose
    from convqa.pipeline.load import wire
    from convqa.pipeline.show import as_mermaid, as_text

    if collection is not None and form != "haystack":
        raise InputError("--collection requires --as haystack; other formats contain no collection.")
    document = compose(pipeline, parse_settings(settings))
    made = wire(document, pipeline)
    if form == "haystack":
        url = None if collection is None else collection_of(collection)
        typer.echo(made.to_haystack(url).rstrip())
    elif form == "yaml":
        typer.echo(document.to_yaml().rstrip())
    elif form == "mermaid":
        typer.echo(as_mermaid(document))
    else:
        typer.echo(as_text(document))
