"""``convqa compare``: compare runs with a baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from convqa.cli.app import command
from convqa.cli.options import Json, print_json


@command
def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs; the first is the baseline.")],
    truth: Annotated[
        Path | None, typer.Option(help="The truth, or its folder.", show_default="the input of the runs")
    ] = None,
    task: Annotated[str, typer.Option(help="Whose files these are: auto, or a task's name.")] = "auto",
    against: Annotated[str | None, typer.Option(metavar="RUN", help="The baseline, by its name in the table.")] = None,
    measure: Annotated[
        list[str] | None, typer.Option("--measure", metavar="NAME", help="Only this one; may be repeated.")
    ] = None,
    breakdown: Annotated[
        list[str] | None,
        typer.Option(
            "--breakdown",
            metavar="FIELD",
            help="By group: history, depth, answerable, source, or a field of the truth; may be repeated.",
            show_default="those that are known",
        ),
    ] = None,
    turns: Annotated[
        int, typer.Option(min=0, help="Turns of each run to show: those that gained and lost most in a measure.")
    ] = 10,
    partial: Annotated[bool, typer.Option("--partial", help="Score only turns that each run has.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of intervals and tests.")] = 1,
    as_: Annotated[
        Literal["text", "markdown", "latex"], typer.Option("--as", help="How the means are written.")
    ] = "text",
    json: Json = False,
) -> None:
    """Compare runs with a baseline: differences, 95 % intervals, tests of significance, and turns that differ.

    Intervals draw conversations, and the test swaps them whole (a paired randomisation test, 9,999 samples). Its p is
    corrected for the number of runs (Holm).
    """
    from convqa.experiments import tables
    from convqa.experiments.compare import compare as compare_runs
    from convqa.experiments.compare import questions_of

    measures = measure or []
    comparison = compare_runs(
        runs, truth, task=task, against=against, breakdown=breakdown, measures=measures, partial=partial, seed=seed
    )
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
