"""``convqa download``: download benchmarks and training data from their publishers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from convqa.cli.app import command
from convqa.cli.progress import Progress
from convqa.errors import InputError, WorkError

What = Annotated[str, typer.Argument(metavar="WHAT", help="conversations, training, mrqa, or a YAML file of your own.")]
Where = Annotated[list[str], typer.Argument(metavar="[PART] DIR", help="Of mrqa a part; where the files go.")]
Only = Annotated[list[str] | None, typer.Option("--only", metavar="NAME", help="Only this set; may be repeated.")]


@command
def download(
    what: What,
    where: Where,
    only: Only = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no summary.")] = False,
) -> int:
    """Download benchmarks or training data from their own addresses, check their sums, and convert them.

    A download that was cut off goes on with the same command; a file that is there is checked and kept. Files with
    another sum than the wanted one are never put in place. What cannot be downloaded is named. Exit code 1 if any file
    that can be is missing at the end.
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
                typer.echo(f"convqa: {name}: not all of it can be downloaded: {data_set.missing}", err=True)
    if failed:
        raise WorkError(
            f"{failed} of {len(sets)} sets could not be downloaded. The same command fetches what is missing."
        )
    return 0
