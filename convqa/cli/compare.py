"""``convqa compare``: compare runs with a baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from convqa.cli.app import command
from convqa.cli.options import Json, print_json


@command
def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders. The first is the baseline.")],
    truth: Annotated[
        Path | None, typer.Option(help="Truth file or folder.", show_default="the input of the runs")
    ] = None,
    task: Annotated[str, typer.Option(help="Task of the runs: auto or a task name.")] = "auto",
    measure: Annotated[
        list[str] | None, typer.Option("--measure", metavar="NAME", help="Compare only this measure. Repeatable.")
    ] = None,
    breakdown: Annotated[
        list[str] | None,
        typer.Option(
            "--breakdown",
            metavar="FIELD",
            help="Group turns by history, depth, answerable, source or a field of the truth. Repeatable.",
            show_default="all available",
        ),
    ] = None,
    turns: Annotated[
        int, typer.Option(min=0, help="Number of turns to show per run: those with the largest gains and losses.")
    ] = 10,
    partial: Annotated[bool, typer.Option("--partial", help="Score only turns that are in every run.")] = False,
    as_: Annotated[Literal["text", "markdown", "latex"], typer.Option("--as", help="Output format.")] = "text",
    json: Json = False,
) -> None:
    """Compare runs with a baseline.

    Prints differences with 95 % bootstrap intervals, significance tests, and the turns that differ most. Intervals
    resample conversations. The test is a paired randomisation test over conversations (9,999 samples), with Holm's
    correction for the number of runs.
    """
    from convqa.experiments import tables
    from convqa.experiments.compare import compare as compare_runs
    from convqa.experiments.compare import questions_of

    measures = measure or []
    comparison = compare_runs(runs, truth, task=task, breakdown=breakdown, measures=measures, partial=partial)
    shown = tables.shown_measures(comparison, measures)
    lead = tables.lead_of(comparison, shown, measures)
    questions = questions_of(comparison) if turns else {}
    rows = {run: _ends(comparison.turns(run, lead, questions), turns) for run in comparison.others}
    if json:
        ends = {run: [turn.to_json() for turn in ends] for run, ends in rows.items()}
        print_json({**comparison.to_json(), "turns": ends})
    elif as_ != "text":
        typer.echo((tables.markdown if as_ == "markdown" else tables.latex)(comparison, shown), nl=False)
    else:
        from rich.console import Console

        differing = [(f"{run}: turns by {lead}, gained most and lost most", ends) for run, ends in rows.items() if ends]
        Console().print(tables.render(comparison, shown, lead, differing))


def _ends(rows: list, count: int) -> list:  # type: ignore[type-arg]
    """Return the turns that gained and lost most."""
    gained = [row for row in rows if row.score > row.base][: (count + 1) // 2]
    lost = [row for row in rows if row.score < row.base][-(count // 2) :] if count > 1 else []
    return [*gained, *reversed(lost)]
