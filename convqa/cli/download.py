"""``convqa download``: download benchmarks and training data from their publishers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from convqa.cli.app import command
from convqa.cli.progress import Progress
from convqa.errors import InputError, WorkError

What = Annotated[str, typer.Argument(metavar="WHAT", help="conversations, training, mrqa, or a YAML file.")]
Where = Annotated[list[str], typer.Argument(metavar="[PART] DIR", help="Part of mrqa to download; target folder.")]
Only = Annotated[
    list[str] | None, typer.Option("--only", metavar="NAME", help="Download only this data set. Repeatable.")
]


@command
def download(
    what: What,
    where: Where,
    only: Only = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Hide progress and summary.")] = False,
) -> int:
    """Download benchmarks or training data.

    Files come from their publishers and are verified by checksum, then converted. Run the same command again to resume
    an interrupted download; files that are complete are kept. Data that cannot be downloaded is named. Exit code 1 if a
    download fails.
    """
    from convqa.tasks.downloads import downloads, fetch, http_client
    from convqa.tasks.published import convert

    *parts, folder = (*where[:-1], Path(where[-1]))
    if len(parts) > 1:
        raise InputError(f"expected [PART] DIR after {what}, got {len(where)} arguments.")
    failed, sets = 0, downloads(what, parts[0] if parts else "all", only)
    with http_client() as client:
        for name, data_set in sets.items():
            messages = [f"{name}: licence: {data_set.licence}"] if data_set.licence else []
            try:
                for file in data_set.files:
                    with Progress(f"downloading {file.file}", "bytes", quiet) as shown:
                        messages.append(file.describe(folder, fetch(client, file, folder, shown)))
                if data_set.convert:
                    target, sources = folder / data_set.folder, [folder / file.file for file in data_set.files]
                    messages.append(f"{target}: {convert(data_set.convert, sources, target)}")
            except WorkError as error:
                failed += 1
                typer.echo(f"convqa: {name}: {error}", err=True)
            if not quiet:
                typer.echo("".join(f"{line}\n" for line in messages), nl=False)
            if data_set.missing:
                typer.echo(f"convqa: {name}: cannot be downloaded completely: {data_set.missing}", err=True)
    if failed:
        raise WorkError(
            f"{failed} of {len(sets)} data sets could not be downloaded. Run the same command again to retry."
        )
    return 0
