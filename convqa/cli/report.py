"""``convqa report``: write an ablation as HTML and Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from convqa.cli.app import command


@command
def report(
    folder: Annotated[Path, typer.Argument(metavar="OUTPUT", help="Folder written by convqa ablate.")],
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="HTML file to write.", show_default="OUTPUT/report.html"),
    ] = None,
) -> None:
    """Write the report of an ablation.

    The report has tables, plots and example turns. It is one self-contained HTML file, with a Markdown file next to it.
    """
    from convqa.experiments.report import report as write

    typer.echo(f"Written: {', '.join(map(str, write(folder, output)))}")
