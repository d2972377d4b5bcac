"""``convqa evaluate`` and ``convqa validate``: check a run against the truth, and against its format."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, make_dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from convqa.cli.app import app, command, prepared
from convqa.cli.options import Json, needed, print_json

if TYPE_CHECKING:
    from convqa.evaluation import Evaluation
    from convqa.evaluation.expected import Expected

Task = Annotated[str, typer.Option(help="Task of the run: auto or a task name.")]
Support = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Measure whether quotes support their sentences (ALCE): lexical, support, or an NLI model (folder or "
        "Hugging Face name).",
    ),
]
AllowSame = Annotated[bool, typer.Option("--allow-same", help="Allow a --support scorer that the run itself used.")]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        metavar="NAME",
        help="Also score this measure of rankings, such as nDCG@20 or P@5 (with the package ir_measures). Repeatable.",
    ),
]
Breakdown = Annotated[
    list[str] | None,
    typer.Option(
        "--breakdown",
        metavar="FIELD",
        help="Group turns by history, depth, answerable, source (QReCC) or a field of the truth. Repeatable.",
    ),
]


class _OfTasks(typer.core.TyperCommand):
    """A command with help and options from the tasks, which are loaded only when it is called."""

    @cached_property
    def _complete(self) -> Any:
        complete = typer.Typer(add_completion=False)
        complete.command()(prepared(_with_tasks()))
        return typer.main.get_command(complete)

    def get_params(self, ctx: Any) -> Any:
        return self._complete.get_params(ctx)

    def invoke(self, ctx: Any) -> Any:
        return self._complete.invoke(ctx)


@app.command(cls=_OfTasks)
def evaluate() -> None:
    """Score a run with the official measures of its task.

    Means have 95 % bootstrap intervals.
    """


def _with_tasks() -> Callable[..., int]:
    """Return ``_evaluate`` with the options of all tasks."""
    from convqa.tasks import tasks

    taken = inspect.signature(_evaluate).parameters
    options: dict[str, tuple[str, Any, Any]] = {}
    for task in tasks().values():
        hints = get_type_hints(task.options)
        for field in fields(task.options):
            if field.metadata and field.name not in taken:
                flag = typer.Option(f"--{field.name.replace('_', '-')}", **field.metadata)
                options.setdefault(field.name, (field.name, Annotated[hints[field.name], flag], field.default))
    _evaluate.__annotations__["options"] = make_dataclass("TaskOptions", options.values())
    return _evaluate


def _evaluate(
    truth: Annotated[
        Path | None,
        typer.Argument(metavar="TRUTH_DIR", help="Truth file of the task, such as ground-truth.json, or its folder."),
    ] = None,
    run: Annotated[
        Path | None, typer.Argument(metavar="RUN_DIR", help="Run file, such as run.json, or its folder.")
    ] = None,
    input_dataset: Annotated[Path | None, typer.Option(help="Same as TRUTH_DIR, as in the official script.")] = None,
    input_run: Annotated[Path | None, typer.Option(help="Same as RUN_DIR, as in the official script.")] = None,
    output: Annotated[
        Path | None, typer.Option(help="Write the official file of the task and turns.jsonl to this folder.")
    ] = None,
    task: Task = "auto",
    measure: Measures = None,
    breakdown: Breakdown = None,
    trec: Annotated[bool, typer.Option("--trec", help="Also write run.trec and truth.qrels to --output.")] = False,
    support: Support = None,
    allow_same: AllowSame = False,
    partial: Annotated[
        bool, typer.Option("--partial", help="Score only turns that are in the run, as after run --limit.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the intervals.")] = 1,
    check: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Compare with expected scores: --json output of evaluate, or a file or name in configs/benchmarks. "
            "Exit code 1 if a mean is outside its expected interval.",
        ),
    ] = None,
    json: Json = False,
    *,
    options: Any,
) -> int:
    from convqa.errors import InputError
    from convqa.evaluation import evaluate, render, write_official, write_trec, write_turns
    from convqa.evaluation.expected import read_expected
    from convqa.evaluation.measures import known_measures

    truth_dir = needed(truth, input_dataset, "TRUTH_DIR", "--input-dataset")
    run_dir = needed(run, input_run, "RUN_DIR", "--input-run")
    if trec and output is None:
        raise InputError("--trec requires --output DIR.")
    expected = None if check is None else read_expected(check)
    # A task may lack options of other tasks, which are left at their defaults.
    values = ((field, getattr(options, field.name)) for field in fields(options))
    given_options = {field.name: value for field, value in values if value != field.default}
    evaluation = evaluate(
        truth_dir,
        run_dir,
        task=task,
        measures=[*(measure or []), *known_measures(expected.measures if expected else [])],
        breakdown=breakdown or [],
        seed=seed,
        partial=partial,
        support=support,
        allow_same=allow_same,
        **given_options,
    )
    if json:
        print_json(evaluation.to_json())
    else:
        from rich.console import Console

        console = Console()
        console.print(render(evaluation, console.width))
    if output is not None:
        written = [write_official(evaluation, output), write_turns(evaluation, output / "turns.jsonl")]
        if trec:
            written += write_trec(evaluation, output)
        if not json:
            typer.echo(f"Written: {', '.join(str(path) for path in written)}")
    return 0 if expected is None else _compared(evaluation, expected, json)


def _compared(evaluation: Evaluation, expected: Expected, quiet: bool) -> int:
    """Print the measures that moved. Return the exit code."""
    from convqa.evaluation.expected import moved

    outside = moved(evaluation, expected)
    for line in outside:
        typer.echo(f"convqa: {line}", err=True)
    if not quiet:
        of = f" of {expected.run}" if expected.run else ""
        typer.echo(f"{len(expected.measures) - len(outside)} of {len(expected.measures)} measures as expected{of}.")
    return int(bool(outside))


@command
def validate(
    input: Annotated[Path, typer.Argument(metavar="INPUT_DIR", help="Input of the run.")],
    run: Annotated[Path, typer.Argument(metavar="RUN_DIR", help="Run folder.")],
    task: Task = "auto",
) -> int:
    """Check the format of a run before uploading it.

    Lists all errors. Exit code 2 if there are any.
    """
    from convqa.tasks import find_task

    problems = find_task(task, input).check(input, run)
    for problem in problems:
        typer.echo(problem, err=True)
    count = f"{len(problems)} problem{'' if len(problems) == 1 else 's'}"
    typer.echo(f"{run}: {count if problems else 'ok'}")
    return 2 if problems else 0
