"""``convqa evaluate`` and ``convqa validate``: check a run against the truth, and against its format."""

from __future__ import annotations

import inspect
from dataclasses import asdict, fields, make_dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer import Argument, Option

from convqa.cli.app import command
from convqa.cli.options import Breakdown, Json, Qrels, TaskName, needed, print_json


def _task_options() -> type:
    """Return a dataclass of the options that the tasks add. A name that several tasks use is one option."""
    from convqa.tasks import tasks

    taken = inspect.signature(evaluate).parameters
    options: dict[str, tuple[str, Any, Any]] = {}
    for task in tasks().values():
        hints = get_type_hints(task.options)
        for field in fields(task.options):
            if field.metadata and field.name not in taken:
                flag = Option(f"--{field.name.replace('_', '-')}", **field.metadata)
                options.setdefault(field.name, (field.name, Annotated[hints[field.name], flag], field.default))
    return make_dataclass("TaskOptions", options.values())


@command
def evaluate(
    truth: Annotated[
        Path | None,
        Argument(metavar="TRUTH_DIR", help="Truth file of the task, such as ground-truth.json, or its folder."),
    ] = None,
    run: Annotated[Path | None, Argument(metavar="RUN_DIR", help="Run file, such as run.json, or its folder.")] = None,
    input_dataset: Annotated[Path | None, Option(help="Same as TRUTH_DIR, as in the official script.")] = None,
    input_run: Annotated[Path | None, Option(help="Same as RUN_DIR, as in the official script.")] = None,
    output: Annotated[
        Path | None, Option(help="Write the official file of the task and turns.jsonl to this folder.")
    ] = None,
    task: TaskName = "auto",
    qrels: Qrels = None,
    measure: Annotated[
        list[str] | None,
        Option(
            metavar="NAME",
            help="Also score this measure of rankings, such as nDCG@20 or P@5 (with the package ir_measures). "
            "Repeatable.",
        ),
    ] = None,
    breakdown: Breakdown = None,
    trec: Annotated[bool, Option("--trec", help="Also write run.trec and truth.qrels to --output.")] = False,
    support: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="Measure whether quotes support their sentences (ALCE): lexical, or an NLI model (folder or Hugging "
            "Face name).",
        ),
    ] = None,
    partial: Annotated[
        bool, Option("--partial", help="Score only turns that are in the run, as after run --limit.")
    ] = False,
    json: Json = False,
    *,
    options: _task_options,  # type: ignore[valid-type]
) -> None:
    """Score a run with the official measures of its task.

    Means have 95 % bootstrap intervals.
    """
    from convqa.errors import InputError
    from convqa.evaluation import evaluate as score
    from convqa.evaluation import render, write_official, write_trec, write_turns

    if qrels is not None:
        # A single argument is the run, since the truth is known.
        truth, run, input_dataset, task = qrels, run or truth, None, "trec"
    truth_dir = needed(truth, input_dataset, "TRUTH_DIR", "--input-dataset")
    run_dir = needed(run, input_run, "RUN_DIR", "--input-run")
    if trec and output is None:
        raise InputError("--trec requires --output DIR.")
    # A task may lack options of other tasks, which are left at their defaults.
    defaults = {field.name: field.default for field in fields(options)}
    task_options = {name: value for name, value in asdict(options).items() if value != defaults[name]}
    evaluation = score(
        truth_dir,
        run_dir,
        task=task,
        measures=measure or [],
        breakdown=breakdown or [],
        partial=partial,
        support=support,
        **task_options,
    )
    if json:
        print_json(evaluation.to_json())
    else:
        from rich.console import Console

        Console().print(render(evaluation))
    if output is not None:
        written = [write_official(evaluation, output), write_turns(evaluation, output / "turns.jsonl")]
        if trec:
            written += write_trec(evaluation, output)
        if not json:
            typer.echo(f"Written: {', '.join(str(path) for path in written)}")


@command
def validate(
    input: Annotated[Path, Argument(metavar="INPUT_DIR", help="Input of the run.")],
    run: Annotated[Path, Argument(metavar="RUN_DIR", help="Run folder.")],
    task: TaskName = "auto",
) -> int:
    """Check the format of a run before uploading it.

    Lists all errors. Exit code 2 if there are any.
    """
    from convqa.errors import counted
    from convqa.tasks import find_task

    problems = find_task(task, input).check(input, run)
    if not problems:
        typer.echo(f"{run}: ok")
        return 0
    for problem in problems:
        typer.echo(problem, err=True)
    typer.echo(f"{run}: {counted(len(problems), 'problems')}")
    return 2
