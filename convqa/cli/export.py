"""``convqa export``: write a run in other formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from convqa.cli.app import command
from convqa.errors import InputError, counted


def export_formats() -> list[str]:
    """Return the names of the formats."""
    from convqa.exports import formats

    return sorted(formats())


@command
def export(
    run: Annotated[Path, Argument(metavar="RUN_DIR", help="Folder written by convqa run.")],
    as_: Annotated[
        str,
        Option(
            "--as",
            metavar="FORMAT",
            help=f"Output format: {', '.join(export_formats())}.",
        ),
    ],
    output: Annotated[Path | None, Option(help="File to create.", show_default="standard output")] = None,
    run_id: Annotated[
        str | None, Option(help="Run name in trec, trec-rag and ikat.", show_default="name of RUN_DIR")
    ] = None,
    run_type: Annotated[
        Literal["automatic", "manual", "generation-only"],
        Option(help="Run type in trec-rag and ikat (generation-only: ikat alone)."),
    ] = "automatic",
    team_id: Annotated[str, Option(help="Team name in trec-rag and ikat.")] = "convqa",
) -> None:
    """Export answers or rankings of a run.

    Answers keep every citation.
    """
    from convqa.driver.responses import read_responses, task_of
    from convqa.exports import Submission, find_format
    from convqa.exports import export as write
    from convqa.files import whole_file

    format = find_format(as_)
    submission = Submission(run_id or run.resolve().name, team_id, run_type, task_of(run))
    responses = read_responses(run)
    if output is None:
        write(responses, format, submission, lambda data: typer.echo(data, nl=False))
        return
    if output.exists():
        raise InputError(f"--output {output}: already exists. Name another file, or remove it.")
    with whole_file(output) as stream:
        tally = write(responses, format, submission, stream.write)
    counts = (
        f"{counted(tally['answered'], 'answers')}, {counted(tally['unanswered'], 'no-answers')}"
        if format.needs_answers
        else "rankings"
    )
    typer.echo(f"Written: {output}: {counts}, {counted(tally['failed'], 'failed turns')}")
