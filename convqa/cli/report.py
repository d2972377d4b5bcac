"""``convqa report``: write an ablation as HTML and Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from convqa.cli.app import command


@command
def report(
    folder: Annotated[Path, typer.Argument(metavar="OUTPUT_DIR", help="What convqa ablate wrote.")],
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The page; Markdown is written beside it.", show_default="report.html there"),
    ] = None,
) -> None:
    """Write what an ablation found, with tables, plots and turns, as one HTML file by itself and as Markdown."""
    from convqa.experiments.report import report as write

    typer.echo(f"Written: {', '.join(map(str, write(folder, output)))}")
