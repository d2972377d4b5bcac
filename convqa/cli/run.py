"""``convqa run`` and ``convqa merge``: answer the turns of an input and write a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from convqa.cli.app import command
from convqa.cli.options import ExecutorName, PipelineOptions, Quiet, Restart, TaskName, WorkerCount, needed
from convqa.cli.progress import ProgressDisplay, per_second
from convqa.errors import counted
from convqa.workers import start_workers
from convqa.workers.shard import Shard

if TYPE_CHECKING:
    from convqa.driver.summary import RunSummary

_MAX_FAILURES = 10
"""Failed turns to print."""


@command
def run(
    input: Annotated[Path | None, Argument(metavar="INPUT", help="Input folder or file.")] = None,
    output: Annotated[Path | None, Argument(metavar="OUTPUT", help="Run folder to write.")] = None,
    input_option: Annotated[Path | None, Option("--input", help="Same as INPUT, as TIRA passes it.")] = None,
    output_option: Annotated[Path | None, Option("--output", help="Same as OUTPUT, as TIRA passes it.")] = None,
    task: TaskName = "auto",
    pipeline: Annotated[
        str | None,
        Option(help="Name of a shipped pipeline, or a YAML file.", show_default="that of the task"),
    ] = None,
    *,
    options: PipelineOptions,
    history: Annotated[
        Literal["own", "gold", "none"],
        Option(help="Earlier exchanges that a turn sees: the run's own, those in the input (gold), or none."),
    ] = "own",
    batch_size: Annotated[int, Option(min=1, help="Number of conversations answered together.")] = 256,
    limit: Annotated[
        int | None, Option(min=1, help="Answer only the first N conversations (see evaluate --partial).")
    ] = None,
    restart: Restart = False,
    retry_errors: Annotated[
        bool, Option("--retry-errors", help="Answer failed turns, and the turns after them, again.")
    ] = False,
    wait: Annotated[float, Option(min=0, help="Seconds to wait for an unavailable server.")] = 120.0,
    shard: Annotated[str | None, Option(metavar="I/N", help="Answer only shard I of N (see convqa merge).")] = None,
    executor: ExecutorName = "local",
    workers: WorkerCount = None,
    quiet: Quiet = False,
) -> int:
    """Answer every turn of an input.

    Writes the run file of the task, such as run.json, and its metadata to OUTPUT. Run the same command again to
    continue an interrupted run.

    Exit codes: 0 success; 1 the run or some turns failed; 2 invalid input, options or pipeline; 130 or 143 interrupted.
    """
    from convqa.driver import run as driver
    from convqa.indexing import collection_for
    from convqa.pipeline.load import load
    from convqa.qa import ready
    from convqa.tasks import find_task

    source = needed(input, input_option, "INPUT", "--input")
    target = needed(output, output_option, "OUTPUT", "--output")
    driver.check_place(target, source, options.collection)
    benchmark = find_task(task, source)
    llm = options.language_model(fallback=False)
    loaded = load(pipeline or benchmark.pipeline_for(source), options.overrides, llm, options.models)
    url = None
    if loaded.needs_collection or options.collection is not None:
        with ProgressDisplay("indexing", "passages", quiet) as progress:
            url = collection_for(benchmark, source, options.collection, benchmark.language, progress)
    bound = ready(loaded, url)
    with start_workers(executor, workers) as pool, ProgressDisplay("answering", "turns", quiet) as progress:
        summary = driver.run(
            benchmark,
            source,
            target,
            bound,
            history=history,
            batch_size=batch_size,
            limit=limit,
            restart=restart,
            retry_errors=retry_errors,
            wait=wait,
            shard=Shard.parse(shard) if shard is not None else None,
            progress=progress,
            workers=pool,
        )
    if not quiet:
        _print_summary(summary, target)
    return _print_failures(summary)


@command
def merge(
    output: Annotated[Path, Argument(metavar="OUTPUT", help="Run folder to write.")],
    shards: Annotated[list[Path], Argument(metavar="SHARD...", help="Folders of all shards.")],
    input: Annotated[Path | None, Option("--input", help="Input of the run, if it has moved.")] = None,
    restart: Restart = False,
    quiet: Quiet = False,
) -> int:
    """Merge the shards of a run into one run folder.

    The result equals that of a single convqa run, apart from timings. Needs neither the collection nor the models. The
    shards must be complete, finished and of the same run.
    """
    from convqa.driver.merge import merge as merge_shards

    summary = merge_shards(output, shards, input, restart)
    if not quiet:
        _print_summary(summary, output)
    return _print_failures(summary)


def _print_summary(summary: RunSummary, target: Path) -> None:
    new = summary.turns - summary.resumed
    rate = f", {per_second(new / summary.seconds, 'turns')}" if new and summary.seconds else ""
    resumed = f" ({counted(summary.resumed, 'turns')} from before)" if summary.resumed else ""
    conversations = counted(summary.conversations, "conversations")
    typer.echo(
        f"{counted(summary.turns, 'turns')} of {conversations}{resumed} in {summary.seconds:.1f} s"
        f"{rate}; {summary.unanswered} unanswered, {len(summary.failures)} failed."
    )
    if summary.notes:
        notes = (f"{note} {count}" for note, count in sorted(summary.notes.items()))
        typer.echo(f"Notes: {'; '.join(notes)}.")
    if summary.run_file is None:
        hint = "" if summary.turns else " It is empty: more shards than groups. Choose a smaller --batch-size."
        typer.echo(f"Shard: {target}.{hint} Merge all shards into a run: convqa merge OUTPUT SHARD...")
        return
    typer.echo(f"Run: {summary.run_file}")
    typer.echo(f"Also in {target}: responses.jsonl, pipeline.resolved.yaml, run.meta.json, ir-metadata.yml")


def _print_failures(summary: RunSummary) -> int:
    """Print the first failures. Return the exit code."""
    if not summary.failures:
        return 0
    for id, failure in summary.failures[:_MAX_FAILURES]:
        typer.echo(f"convqa: turn {id} failed in {failure.stage}: {failure.error}: {failure.message}", err=True)
    more = len(summary.failures) - _MAX_FAILURES
    if more > 0:
        typer.echo(f"convqa: and {more} more; run.meta.json lists them all.", err=True)
    advice = "Answer them again with --retry-errors; add -v to see where each error was raised"
    typer.echo(f"convqa: failed turns count as unanswered. {advice}.", err=True)
    return 1
