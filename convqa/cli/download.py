"""``convqa download``: download benchmarks and training data from their publishers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from convqa.cli.app import command
from convqa.cli.options import Quiet
from convqa.cli.progress import ProgressDisplay
from convqa.errors import InputError, WorkError
from convqa.places import shipped_yaml


@command
def download(
    what: Annotated[
        str,
        Argument(metavar="WHAT", help=f"{', '.join(shipped_yaml('configs', 'downloads'))}, or a YAML file."),
    ],
    where: Annotated[list[str], Argument(metavar="[PART] DIR", help="Part of mrqa to download; target folder.")],
    only: Annotated[list[str] | None, Option(metavar="NAME", help="Download only this data set. Repeatable.")] = None,
    quiet: Quiet = False,
) -> None:
    """Download benchmarks or training data.

    Files come from their publishers and are verified by checksum, then converted. After an
    interruption, run the same command again; files that are complete are kept. Data that cannot be downloaded is named.
    Exit code 1 if a download fails.
    """
    from convqa.tasks.downloads import downloads, fetch, http_client
    from convqa.tasks.published import convert

    if len(where) > 2:
        raise InputError(f"expected [PART] DIR after {what}, got {len(where)} arguments.")
    folder = Path(where[-1])
    sets = downloads(what, where[0] if len(where) == 2 else "all", only)
    failed = 0
    with http_client() as client:
        for name, data_set in sets.items():
            messages = [f"{name}: licence: {data_set.licence}"] if data_set.licence else []
            try:
                for file in data_set.files:
                    with ProgressDisplay(f"downloading {file.file}", "bytes", quiet) as progress:
                        messages.append(file.describe(folder, fetch(client, file, folder, progress)))
                if data_set.convert:
                    target = folder / data_set.folder
                    sources = [folder / file.file for file in data_set.files]
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
