"""``convqa ablate`` and ``convqa report``: run a grid of pipelines over inputs, and report on it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from convqa.cli.app import command
from convqa.cli.options import AllowDownload, Qrels, Quiet, Restart, TaskName
from convqa.cli.progress import ProgressDisplay

if TYPE_CHECKING:
    from rich.table import Table

    from convqa.experiments.record import AblationInput, AblationRecord


@command
def ablate(
    ablation: Annotated[str, Argument(metavar="ABLATION", help="Name of a shipped ablation, or a YAML file.")],
    paths: Annotated[
        list[Path],
        Argument(metavar="INPUT... OUTPUT", help="Folders of the inputs, then of the output."),
    ],
    task: TaskName = "auto",
    qrels: Qrels = None,
    measure: Annotated[
        list[str] | None, Option(metavar="NAME", help="Measure to show, instead of those of the file. Repeatable.")
    ] = None,
    turns: Annotated[
        int | None, Option(min=1, help="Use only the first conversations of each input, at most N turns.")
    ] = None,
    sharing: Annotated[bool, Option(help="Reuse results computed for other cells.")] = True,
    restart: Restart = False,
    allow_download: AllowDownload = False,  # noqa: ARG001 - the option itself permits
    quiet: Quiet = False,
) -> int:
    """Run and score a grid of pipelines over inputs.

    Each combination of a pipeline and an input is a run in OUTPUT/cells, scored if the input has a truth. Run the same
    command again to continue an interrupted ablation.

    Exit codes: 0 success; 1 a cell or some of its turns failed; 2 invalid ablation or input.
    """
    from convqa.errors import InputError
    from convqa.experiments.ablate import ablate as run

    if len(paths) < 2:
        raise InputError("expected one or more INPUTs, then OUTPUT. See --help.")
    *inputs, output = paths
    with ProgressDisplay("running", "cells", quiet) as progress:
        record = run(
            ablation,
            inputs,
            output,
            task=task,
            qrels=qrels,
            turns=turns,
            measures=measure or [],
            sharing=sharing,
            restart=restart,
            progress=progress,
        )
    if not quiet:
        from rich.console import Console

        for source in record.inputs:
            Console().print(_table(record, source))
        for cell in record.cells:
            if cell.message:
                typer.echo(f"convqa: {cell.row} over {cell.input}: {cell.status}: {cell.message}", err=True)
        typer.echo(f"Written: {output / 'ablation.json'}. For significance tests and turns: convqa report {output}")
    return int(any(cell.status != "skipped" and cell.message for cell in record.cells))


@command
def report(
    folder: Annotated[Path, Argument(metavar="OUTPUT", help="Folder written by convqa ablate.")],
    output: Annotated[
        Path | None,
        Option(metavar="FILE", help="HTML file to write.", show_default="OUTPUT/report.html"),
    ] = None,
) -> None:
    """Write the report of an ablation.

    The report has tables and example turns. It is one self-contained HTML file.
    """
    from convqa.experiments.report import report as write

    typer.echo(f"Written: {write(folder, output)}")


def _table(record: AblationRecord, source: AblationInput) -> Table:
    """Return the measures of one input, the best values in bold."""
    from rich.table import Table
    from rich.text import Text

    from convqa.errors import counted
    from convqa.experiments.record import largest_means

    cells = record.cells_of(source).values()
    measures = record.measures_of(source)
    best = largest_means(cells)
    part = "" if source.conversations == "all" else f", {source.conversations} conversations"
    part += "" if source.truth else ", not scored (no truth)"
    title = f"{source.name}: {counted(source.turns, 'turns')}{part}, history {source.history}"
    table = Table(title=Text(title), title_justify="left")
    table.add_column("row", no_wrap=True)
    for column in (*measures, "ms/turn"):
        table.add_column(Text(column), justify="right", overflow="fold")
    for cell in cells:
        row = [Text(cell.row)]
        for measure in measures:
            if measure in cell.measures:
                mean = cell.measures[measure].mean
                row.append(Text(f"{mean:.3f}", "bold" if mean == best[measure] else ""))
            else:
                row.append(Text("-"))
        is_done = cell.status == "done"
        table.add_row(*row, f"{cell.total:.1f}" if is_done else cell.status)
    return table
