"""``convqa compare``: compare runs with a baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from convqa.cli.app import command
from convqa.cli.options import Breakdown, Json, Qrels, TaskName, print_json


@command
def compare(
    runs: Annotated[list[Path], Argument(metavar="RUN...", help="Run folders. The first is the baseline.")],
    truth: Annotated[
        Path | None,
        Option(help="Truth file or folder.", show_default="the input of the runs"),
    ] = None,
    qrels: Qrels = None,
    task: TaskName = "auto",
    measure: Annotated[
        list[str] | None,
        Option(metavar="NAME", help="Compare only this measure. Repeatable."),
    ] = None,
    breakdown: Breakdown = None,
    turns: Annotated[
        int,
        Option(min=0, help="Number of turns to show per run: those with the largest gains and losses."),
    ] = 10,
    partial: Annotated[bool, Option("--partial", help="Score only turns that are in every run.")] = False,
    as_: Annotated[Literal["text", "markdown"], Option("--as", help="Output format.")] = "text",
    json: Json = False,
) -> None:
    """Compare runs with a baseline.

    Prints differences with 95 % bootstrap intervals, significance tests, and the turns that differ most. Intervals
    resample conversations. The tests are paired randomization tests over conversations, and over turns (9,999 samples),
    with Holm's correction for the number of runs. Without --breakdown, turns are grouped by every field that the task
    offers.
    """
    from convqa.experiments import tables
    from convqa.experiments.compare import compare as compare_runs

    measures = measure or []
    if qrels is not None:
        truth, task = qrels, "trec"
    comparison = compare_runs(runs, truth, task=task, breakdown=breakdown, measures=measures, partial=partial)
    columns = tables.shown_measures(comparison, measures)
    lead = tables.lead_of(columns, measures)
    shown = {run: comparison.turns(run, lead, turns) for run in comparison.others}
    if json:
        rows = {run: [row.to_json() for row in rows] for run, rows in shown.items()}
        print_json({**comparison.to_json(), "turns": rows})
    elif as_ == "markdown":
        typer.echo(tables.markdown(comparison, columns), nl=False)
    else:
        from rich.console import Console

        Console().print(tables.render(comparison, columns, lead, shown))
