"""``convqa export``: write a run in other formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from convqa.cli.app import command
from convqa.errors import InputError


@command
def export(
    run: Annotated[Path, typer.Argument(metavar="RUN_DIR", help="The folder that convqa run wrote.")],
    as_: Annotated[
        str,
        typer.Option(
            "--as",
            metavar="FORMAT",
            help="trec (a run of rankings), trec-rag, trec-rag-2025, ikat, jwhr (JSON lines), evidence (a JSON array) "
            "or text.",
        ),
    ],
    output: Annotated[
        Path | None, typer.Option(help="Write to this file, which must not exist; else to standard output.")
    ] = None,
    run_id: Annotated[
        str | None, typer.Option(help="What trec, trec-rag and ikat call the run; RUN_DIR's name if not given.")
    ] = None,
    run_type: Annotated[
        str,
        typer.Option(help="How the run was made: automatic, manual, and for ikat generation-only."),
    ] = "automatic",
    team_id: Annotated[str, typer.Option(help="What trec-rag and ikat call the team.")] = "convqa",
) -> None:
    """Write a run's answers, with every citation, as TREC RAG, iKAT, JWHR, QReCC evidence or plain text; or its
    rankings as a TREC run.
    """
    from convqa.driver.responses import read_responses, task_of
    from convqa.exports import Submission, find_format
    from convqa.exports import export as write
    from convqa.files import whole_file

    format = find_format(as_)
    submission = Submission(run_id or run.resolve().name, team_id, run_type, task_of(run))
    if run_type not in format.run_types:
        raise InputError(f"--run-type {run_type}: {as_} knows {', '.join(format.run_types)}.")
    responses = read_responses(run)
    if output is None:
        write(responses, format, submission, lambda data: typer.echo(data, nl=False))
        return
    if output.exists():
        raise InputError(f"--output {output}: exists already. Give another file, or remove it.")
    with whole_file(output) as stream:
        tally = write(responses, format, submission, stream.write)
    counts = f"{tally['answered']} answers, {tally['unanswered']} no-answers" if format.needs_answers else "rankings"
    typer.echo(f"Written: {output}: {counts}, {tally['failed']} failed turns")
