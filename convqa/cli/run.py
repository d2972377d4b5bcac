"""``convqa run``: from an input directory to a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from convqa.cli.app import command
from convqa.cli.options import (
    AllowDownload,
    Collection,
    Device,
    ExecutorName,
    LlmModel,
    LlmName,
    LlmRole,
    Precision,
    Settings,
    WorkerCount,
    llm_of,
    needed,
    options_of,
    parsed,
)
from convqa.cli.progress import Progress, per_second
from convqa.workers import start_workers
from convqa.workers.shard import Shard

if TYPE_CHECKING:
    from convqa.driver.summary import Summary
    from convqa.pipeline.load import Pipeline
    from convqa.tasks import Task


@command
def run(
    input: Annotated[Path | None, typer.Argument(metavar="INPUT", help="Input directory or file.")] = None,
    output: Annotated[Path | None, typer.Argument(metavar="OUTPUT", help="Folder of the run; made if need be.")] = None,
    input_option: Annotated[Path | None, typer.Option("--input", help="INPUT as TIRA gives it.")] = None,
    output_option: Annotated[Path | None, typer.Option("--output", help="OUTPUT as TIRA gives it.")] = None,
    task: Annotated[str, typer.Option(help="Whose files the input holds: auto, or a task's name.")] = "auto",
    pipeline: Annotated[
        str | None,
        typer.Option(help="A shipped pipeline, or a YAML file's path.", show_default="the task's own"),
    ] = None,
    collection: Collection = None,
    settings: Settings = None,
    llm: LlmName = None,
    llm_model: LlmModel = None,
    llm_role: LlmRole = None,
    device: Device = "auto",
    precision: Precision = "auto",
    history: Annotated[
        Literal["own", "gold", "none"],
        typer.Option(help="Earlier exchanges that a turn sees: this run's answers, those that are given, or none."),
    ] = "own",
    batch_size: Annotated[int, typer.Option(min=1, help="Conversations that are answered together.")] = 256,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first N conversations (scored alone: evaluate --partial).")
    ] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Throw away the run that OUTPUT holds.")] = False,
    retry_errors: Annotated[
        bool, typer.Option("--retry-errors", help="Answer failed turns, and the turns after them, once more.")
    ] = False,
    wait: Annotated[float, typer.Option(min=0, help="Seconds to wait for a store that is away.")] = 120.0,
    shard: Annotated[
        str | None, typer.Option(metavar="I/N", help="Answer every N-th group of conversations; see convqa merge.")
    ] = None,
    executor: ExecutorName = "local",
    workers: WorkerCount = None,
    allow_download: AllowDownload = False,  # noqa: ARG001 - the option itself permits
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no summary.")] = False,
) -> int:
    """Answer every turn of INPUT and write the run (run.json, out.tsv ...) and its records to OUTPUT.

    The same command again continues a run that was stopped. Exit codes: 0 done; 1 the work failed or some turns did;
    2 a mistake in input, options or pipeline; 130 or 143 interrupted.
    """
    from convqa.driver import run as driver
    from convqa.pipeline.load import load
    from convqa.qa import ready
    from convqa.tasks import find_task

    source, target = (
        needed(input, input_option, "INPUT", "--input"),
        needed(output, output_option, "OUTPUT", "--output"),
    )
    driver.check_place(target, source, collection)
    found, model = find_task(task, source), llm_of(llm, llm_model, llm_role, fallback=False)
    read = load(pipeline or found.pipeline_for(source), parsed(settings), model, options_of(device, precision))
    bound = ready(read, _collection(read, found, source, collection, quiet))
    part = None if shard is None else Shard.parse(shard)
    options = driver.Options(history, batch_size, limit, restart, retry_errors, wait, part)
    with start_workers(executor, workers) as started, Progress("answering", "turns", quiet) as shown:
        summary = driver.run(found, source, target, bound, options, shown, started)
    if not quiet:
        print_summary(summary, target)
    return print_failures(summary)


def _collection(read: Pipeline, task: Task, source: Path, collection: str | None, quiet: bool) -> str | None:
    """The URL of the collection that the run searches, if it searches one."""
    from convqa.indexing import collection_for

    if not read.needs_collection and collection is None:
        return None
    with Progress("indexing", "passages", quiet) as shown:
        return collection_for(task, source, collection, task.language, shown)


def print_summary(summary: Summary, target: Path) -> None:
    new = summary.turns - summary.resumed
    rate = f", {per_second(new / summary.seconds, 'turns')}" if new and summary.seconds else ""
    kept = f" ({summary.resumed} from before)" if summary.resumed else ""
    typer.echo(
        f"{summary.turns} turns of {summary.conversations} conversations{kept} in {summary.seconds:.1f} s"
        f"{rate}; {summary.unanswered} unanswered, {len(summary.failures)} failed."
    )
    if summary.notes:
        typer.echo("Notes: " + "; ".join(f"{note} {count}" for note, count in sorted(summary.notes.items())) + ".")
    if summary.run_file is None:
        typer.echo(f"A shard, in {target}: convqa merge OUTPUT SHARD... makes the run of all of them.")
        return
    typer.echo(f"Run: {summary.run_file}")
    typer.echo(f"Beside it in {target}: responses.jsonl, pipeline.resolved.yaml, run.meta.json, ir-metadata.yml")


def print_failures(summary: Summary) -> int:
    for id, failure in summary.failures[:10]:
        typer.echo(f"convqa: turn {id} failed in {failure.stage}: {failure.error}: {failure.message}", err=True)
    if len(summary.failures) > 10:
        typer.echo(f"convqa: and {len(summary.failures) - 10} more; run.meta.json names them all.", err=True)
    if summary.failures:
        again = "--retry-errors answers them again, and with -v says where in the code each error was raised"
        typer.echo(f"convqa: failed turns count as unanswered in the run; {again}.", err=True)
    return 1 if summary.failures else 0
