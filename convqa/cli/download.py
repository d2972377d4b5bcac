"""``convqa download``: a benchmark's files from their own addresses, on request only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from convqa.cli.app import command
from convqa.cli.progress import Progress
from convqa.errors import WorkError

What = Annotated[
    str, typer.Argument(metavar="WHAT", help="mrqa, or a YAML file of your own such as configs/downloads/mrqa.yaml.")
]
Part = Annotated[str, typer.Argument(metavar="PART", help="Of mrqa: train, in-domain or out-of-domain.")]
Only = Annotated[list[str] | None, typer.Option("--only", metavar="NAME", help="Only this set; may be repeated.")]


@command
def download(
    what: What,
    part: Part,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the files go; made if need be.")],
    only: Only = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no summary.")] = False,
) -> int:
    """Download a benchmark's files from their own addresses, and check their MD5 sums.

    A download that was cut off goes on with the same command; a file that is there is checked and kept. Files with
    another sum than the benchmark tells are never put in place. Exit code 1 if any file is missing at the end.
    """
    from convqa.tasks.downloads import downloads, fetch, http_client

    failed = 0
    wanted = downloads(what, part, only)
    with http_client() as client:
        for name, one in wanted.items():
            try:
                with Progress(f"downloading {one.file}", "bytes", quiet) as shown:
                    done = fetch(client, one, folder, shown)
            except WorkError as error:
                failed += 1
                typer.echo(f"convqa: {name}: {error}", err=True)
                continue
            if not quiet:
                megabytes = (folder / one.file).stat().st_size / 1e6
                how = "MD5 as wanted" if done == "fetched" else "was there, MD5 as wanted"
                typer.echo(f"{folder / one.file}: {megabytes:.1f} MB, {one.examples} questions; {how}")
    if failed:
        are = "is" if failed == 1 else "are"
        raise WorkError(f"{failed} of {len(wanted)} files {are} missing. The same command fetches what is missing.")
    return 0
