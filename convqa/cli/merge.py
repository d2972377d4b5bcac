"""``convqa merge``: make a run folder of its shards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from convqa.cli.app import command
from convqa.cli.run import print_failures, print_summary


@command
def merge(
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="Folder of the run; made if need be.")],
    shards: Annotated[list[Path], typer.Argument(metavar="SHARD...", help="All folders of convqa run --shard.")],
    input: Annotated[
        Path | None, typer.Option("--input", help="The input that was answered.", show_default="where it was")
    ] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Throw away the run that OUTPUT holds.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No summary.")] = False,
) -> int:
    """Make the run of its shards: the same as one convqa run writes, but for times.

    Neither the collection nor a model is needed. Shards that are missing, not finished, given twice, or of different
    runs are refused.
    """
    from convqa.driver.merge import merge as merge_shards

    summary = merge_shards(output, shards, input, restart)
    if not quiet:
        print_summary(summary, output)
    return print_failures(summary)
