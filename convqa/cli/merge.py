"""``convqa merge``: make a run folder of its shards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from convqa.cli.app import command
from convqa.cli.run import print_failures, print_summary


@command
def merge(
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="Run folder to write.")],
    shards: Annotated[list[Path], typer.Argument(metavar="SHARD...", help="Folders of all shards.")],
    input: Annotated[Path | None, typer.Option("--input", help="Input of the run, if it has moved.")] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Delete the existing run in OUTPUT first.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Hide the summary.")] = False,
) -> int:
    """Merge the shards of a run into one run folder.

    The result equals that of a single convqa run, apart from timings. Needs neither the collection nor the models. The
    shards must be complete, finished and of the same run.
    """
    from convqa.driver.merge import merge as merge_shards

    summary = merge_shards(output, shards, input, restart)
    if not quiet:
        print_summary(summary, output)
    return print_failures(summary)
