"""``convqa index``: files of passages in, a collection out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from convqa.cli.app import command
from convqa.cli.options import K1, B, Replicas, given
from convqa.cli.progress import Progress
from convqa.errors import InputError


@command
def index(
    sources: Annotated[
        list[Path], typer.Argument(metavar="SOURCES...", help="JSONL files, plain or gzip, or folders.")
    ],
    collection: Annotated[
        str,
        typer.Option(
            help="The collection to make: a folder, elasticsearch://HOST:PORT/INDEX, a YAML file of "
            "configs/collections, or the name of a shipped one.",
            show_default=False,
        ),
    ],
    add: Annotated[bool, typer.Option("--add", help="Add to a collection; one that is not there is made.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Make a collection that exists anew.")] = False,
    language: Annotated[
        str | None,
        typer.Option(help="Language of the passages, en or de; en, or that of the collection added to, if not named."),
    ] = None,
    k1: K1 = None,
    b: B = None,
    shards: Annotated[
        int | None, typer.Option(min=1, help="Parts of a new index on a server.", show_default=False)
    ] = None,
    replicas: Replicas = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Requests at once while a new index is filled.", show_default=False)
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no summary.")] = False,
) -> None:
    """Index passages: a JSON object a line with id, text (or contents) and, if there, title, url and meta.

    A load into Elasticsearch that was interrupted or killed goes on when the same command is given again, from the last
    20,000 passages that were noted as done; in a folder it begins anew. Nothing is visible before all is there.
    """
    from convqa.indexing import index as build
    from convqa.stores.url import redact

    if add and replace:
        raise InputError("--add and --replace exclude each other.")
    settings = given(k1=k1, b=b, shards=shards, replicas=replicas, threads=threads)
    with Progress("indexing", "passages", quiet) as shown:
        info = build(
            sources, collection, add=add, replace=replace, language=language, settings=settings, progress=shown
        )
    if not quiet:
        where = f"{redact(collection)} ({info.engine}, {info.language})"
        typer.echo(f"{info.count} passages in {where}, checksum {info.checksum}")
