"""``convqa index``: files of passages in, a collection out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from convqa.cli.app import command
from convqa.cli.progress import Progress
from convqa.errors import InputError


@command
def index(
    sources: Annotated[
        list[Path], typer.Argument(metavar="SOURCES...", help="JSONL files, plain or gzip, or folders.")
    ],
    collection: Annotated[str, typer.Option(help="The collection to make: a folder.", show_default=False)],
    add: Annotated[bool, typer.Option("--add", help="Add to a collection that exists.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Make a collection that exists anew.")] = False,
    language: Annotated[
        str | None,
        typer.Option(help="Language of the passages, en or de; en, or that of the collection added to, if not named."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no summary.")] = False,
) -> None:
    """Index passages: a JSON object a line with id, text (or contents) and, if there, title, url and meta."""
    from convqa.indexing import index as build
    from convqa.stores.url import redact

    if add and replace:
        raise InputError("--add and --replace exclude each other.")
    with Progress("indexing", "passages", quiet) as shown:
        info = build(sources, collection, add=add, replace=replace, language=language, progress=shown)
    if not quiet:
        where = f"{redact(collection)} ({info.engine}, {info.language})"
        typer.echo(f"{info.count} passages in {where}, checksum {info.checksum}")
