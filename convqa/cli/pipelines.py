"""``convqa check`` and ``convqa show``: inspect pipelines without running them."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from convqa.cli.app import command
from convqa.cli.options import Collection, Settings, parsed
from convqa.errors import InputError


@command
def check(
    pipelines: Annotated[list[str], typer.Argument(metavar="PIPELINE...", help="Shipped names or paths.")],
    settings: Settings = None,
) -> int:
    """Check pipelines without running them: every mistake in each, with its node and parameter.

    Models and collections are not looked at: whether they are there, and fit, is found when a run begins. Environment
    variables and addresses that a pipeline names are listed: it can send any variable to any address.
    """
    from convqa.pipeline.compose import compose
    from convqa.pipeline.load import wire
    from convqa.pipeline.show import reached

    chosen = parsed(settings)
    wrong = 0
    for name in pipelines:
        try:
            made = wire(compose(name, chosen), name)
        except InputError as error:
            typer.echo(str(error), err=True)
            wrong += 1
        else:
            typer.echo("\n  ".join([f"{name}: ok", *reached(made.document)]))
    return 2 if wrong else 0


@command
def show(
    pipeline: Annotated[str, typer.Argument(metavar="PIPELINE", help="A shipped name or a path.")],
    settings: Settings = None,
    form: Annotated[
        Literal["text", "yaml", "haystack"],
        typer.Option(
            "--as",
            help="As text, as resolved YAML, or as YAML for Haystack itself (--collection).",
        ),
    ] = "text",
    collection: Collection = None,
) -> None:
    """Show a pipeline as it is after extends, override, drop and --set."""
    from convqa.indexing import collection_of
    from convqa.pipeline.compose import compose
    from convqa.pipeline.load import wire
    from convqa.pipeline.show import as_text

    if collection is not None and form != "haystack":
        raise InputError("--collection is for --as haystack: no other form names a collection.")
    document = compose(pipeline, parsed(settings))
    made = wire(document, pipeline)
    if form == "haystack":
        url = None if collection is None else collection_of(collection)
        typer.echo(made.to_haystack(url).rstrip())
    elif form == "yaml":
        typer.echo(document.to_yaml().rstrip())
    else:
        typer.echo(as_text(document))
