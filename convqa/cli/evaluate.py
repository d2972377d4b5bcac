"""``convqa evaluate`` and ``convqa validate``: check a run against the truth, and against its format."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
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
    """Return ``_evaluate`` with the tasks' file names in its help and with the tasks' options."""
    from convqa.tasks import tasks

    known = tasks().values()
    truths = ", ".join(f"{task.truth_file} ({task.name})" for task in known)
    runs, officials = (
        ", ".join(sorted({getattr(task, name) for task in known})) for name in ("run_file", "official_file")
    )
    helps = {
        "truth": typer.Argument(metavar="TRUTH_DIR", help=f"Truth file or its folder: {truths}."),
        "run": typer.Argument(metavar="RUN_DIR", help=f"Run file ({runs}) or its folder."),
        "output": typer.Option(help=f"Write the official file ({officials}) and turns.jsonl to this folder."),
    }
    signature = inspect.signature(_evaluate, eval_str=True).parameters
    parameters = {
        name: parameter.replace(annotation=Annotated[Path | None, helps[name]]) if name in helps else parameter
        for name, parameter in signature.items()
        if parameter.kind is not parameter.VAR_KEYWORD
    }
    for task in known:
        hints = get_type_hints(task.options)
        for field in fields(task.options):
            if field.metadata:
                flag = typer.Option(f"--{field.name.replace('_', '-')}", **field.metadata)
                kind = inspect.Parameter.KEYWORD_ONLY
                made = inspect.Parameter(
                    field.name, kind, default=field.default, annotation=Annotated[hints[field.name], flag]
                )
                parameters.setdefault(field.name, made)

    own = {name: parameter.default for name, parameter in parameters.items() if name not in signature}

    def evaluate(**arguments: Any) -> int:
        # Drops options left at their defaults, which a task may lack.
        return _evaluate(**{name: value for name, value in arguments.items() if name not in own or value != own[name]})

    evaluate.__signature__ = inspect.Signature([*parameters.values()])  # type: ignore[attr-defined]
    return evaluate


def _evaluate(
    truth: Path | None = None,
    run: Path | None = None,
    input_dataset: Annotated[Path | None, typer.Option(help="Same as TRUTH_DIR, as in the official script.")] = None,
    input_run: Annotated[Path | None, typer.Option(help="Same as RUN_DIR, as in the official script.")] = None,
    output: Path | None = None,
    task: Task = "auto",
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
    **options: Any,
) -> int:
    from convqa.errors import InputError
    from convqa.evaluation import evaluate, render, write_official, write_trec, write_turns
    from convqa.evaluation.expected import read_expected

    truth_dir = needed(truth, input_dataset, "TRUTH_DIR", "--input-dataset")
    run_dir = needed(run, input_run, "RUN_DIR", "--input-run")
    if trec and output is None:
        raise InputError("--trec requires --output DIR.")
    expected = None if check is None else read_expected(check)
    evaluation = evaluate(
        truth_dir,
        run_dir,
        task=task,
        breakdown=breakdown or [],
        seed=seed,
        partial=partial,
        support=support,
        allow_same=allow_same,
        **options,
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
        typer.echo(str(problem), err=True)
    count = f"{len(problems)} problem{'' if len(problems) == 1 else 's'}"
    typer.echo(f"{run}: {count if problems else 'ok'}")
    return 2 if problems else 0
