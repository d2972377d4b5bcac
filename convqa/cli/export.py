"""``convqa export``: write a run in other formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from convqa.cli.app import app, prepared
from convqa.errors import InputError


class _OfFormats(typer.core.TyperCommand):
    """A command whose help lists the formats, which are loaded only when it is called."""

    def get_params(self, ctx: Any) -> Any:
        from convqa.exports import formats

        answers = [name for name, format in formats().items() if format.needs_answers]
        rankings = [name for name, format in formats().items() if not format.needs_answers]
        params = super().get_params(ctx)
        for param in params:
            if isinstance(param, typer.core.TyperOption) and param.name == "as_":
                param.help = f"Output format. Answers: {', '.join(answers)}. Rankings: {', '.join(rankings)}."
        return params


@app.command(cls=_OfFormats)
@prepared
def export(
    run: Annotated[Path, typer.Argument(metavar="RUN_DIR", help="Folder written by convqa run.")],
    as_: Annotated[
        str,
        typer.Option("--as", metavar="FORMAT"),
    ],
    output: Annotated[Path | None, typer.Option(help="File to create.", show_default="standard output")] = None,
    run_id: Annotated[
        str | None, typer.Option(help="Run name in trec, trec-rag and ikat.", show_default="name of RUN_DIR")
    ] = None,
    run_type: Annotated[
        str,
        typer.Option(help="Run type in trec-rag and ikat: automatic, manual, or for ikat generation-only."),
    ] = "automatic",
    team_id: Annotated[str, typer.Option(help="Team name in trec-rag and ikat.")] = "convqa",
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
    if run_type not in format.run_types:
        raise InputError(f"--run-type {run_type}: expected {', '.join(format.run_types)} for {as_}.")
    responses = read_responses(run)
    if output is None:
        write(responses, format, submission, lambda data: typer.echo(data, nl=False))
        return
    if output.exists():
        raise InputError(f"--output {output}: already exists. Name another file, or remove it.")
    with whole_file(output) as stream:
        tally = write(responses, format, submission, stream.write)
    counts = f"{tally['answered']} answers, {tally['unanswered']} no-answers" if format.needs_answers else "rankings"
    typer.echo(f"Written: {output}: {counts}, {tally['failed']} failed turns")
