"""``convqa run`` and ``convqa merge``: answer the turns of an input and write a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from convqa.cli.app import command
from convqa.cli.options import ExecutorName, PipelineOptions, WorkerCount, needed
from convqa.cli.progress import Progress, per_second
from convqa.workers import start_workers
from convqa.workers.shard import Shard

if TYPE_CHECKING:
    from convqa.driver.summary import RunSummary


@command
def run(
    input: Annotated[Path | None, typer.Argument(metavar="INPUT", help="Input folder or file.")] = None,
    output: Annotated[Path | None, typer.Argument(metavar="OUTPUT", help="Run folder to write.")] = None,
    input_option: Annotated[Path | None, typer.Option("--input", help="Same as INPUT, as TIRA passes it.")] = None,
    output_option: Annotated[Path | None, typer.Option("--output", help="Same as OUTPUT, as TIRA passes it.")] = None,
    task: Annotated[str, typer.Option(help="Task of the input: auto or a task name.")] = "auto",
    pipeline: Annotated[
        str | None,
        typer.Option(help="Name of a shipped pipeline, or a YAML file.", show_default="that of the task"),
    ] = None,
    *,
    options: PipelineOptions,
    history: Annotated[
        Literal["own", "gold", "none"],
        typer.Option(help="Earlier exchanges that a turn sees: the run's own, those in the input (gold), or none."),
    ] = "own",
    batch_size: Annotated[int, typer.Option(min=1, help="Number of conversations answered together.")] = 256,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Answer only the first N conversations (see evaluate --partial).")
    ] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Delete the existing run in OUTPUT first.")] = False,
    retry_errors: Annotated[
        bool, typer.Option("--retry-errors", help="Answer failed turns, and the turns after them, again.")
    ] = False,
    wait: Annotated[float, typer.Option(min=0, help="Seconds to wait for an unavailable server.")] = 120.0,
    shard: Annotated[
        str | None, typer.Option(metavar="I/N", help="Answer only shard I of N (see convqa merge).")
    ] = None,
    executor: ExecutorName = "local",
    workers: WorkerCount = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Hide progress and summary.")] = False,
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
    found, model = find_task(task, source), options.language_model(fallback=False)
    loaded = load(pipeline or found.pipeline_for(source), options.overrides, model, options.models)
    url = None
    if loaded.needs_collection or options.collection is not None:
        with Progress("indexing", "passages", quiet) as progress:
            url = collection_for(found, source, options.collection, found.language, progress)
    bound = ready(loaded, url)
    with start_workers(executor, workers) as crew, Progress("answering", "turns", quiet) as progress:
        summary = driver.run(
            found, source, target, bound, history=history, batch_size=batch_size, limit=limit, restart=restart,
            retry_errors=retry_errors, wait=wait, shard=None if shard is None else Shard.parse(shard),
            progress=progress, workers=crew,
        )  # fmt: skip
    if not quiet:
        _print_summary(summary, target)
    return _print_failures(summary)


@command
def merge(
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="Run folder to write.")],
    shards: Annotated[list[Path], typer.Argument(metavar="SHARD...", help="Folders of all shards.")],
    input: Annotated[Path | None, typer.Option("--input", help="Input of the run, if it has moved.")] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Delete the existing run in OUTPUT first.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Hide the summary.")] = False,
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
    resumed = f" ({summary.resumed} from before)" if summary.resumed else ""
    conversations = "1 conversation" if summary.conversations == 1 else f"{summary.conversations} conversations"
    typer.echo(
        f"{summary.turns} turns of {conversations}{resumed} in {summary.seconds:.1f} s"
        f"{rate}; {summary.unanswered} unanswered, {len(summary.failures)} failed."
    )
    if summary.notes:
        typer.echo("Notes: " + "; ".join(f"{note} {count}" for note, count in sorted(summary.notes.items())) + ".")
    if summary.run_file is None:
        typer.echo(f"Shard: {target}. Merge all shards into a run: convqa merge OUTPUT SHARD...")
        return
    typer.echo(f"Run: {summary.run_file}")
    typer.echo(f"Also in {target}: responses.jsonl, pipeline.resolved.yaml, run.meta.json, ir-metadata.yml")


def _print_failures(summary: RunSummary) -> int:
    for id, failure in summary.failures[:10]:
        typer.echo(f"convqa: turn {id} failed in {failure.stage}: {failure.error}: {failure.message}", err=True)
    if len(summary.failures) > 10:
        typer.echo(f"convqa: and {len(summary.failures) - 10} more; run.meta.json lists them all.", err=True)
    if summary.failures:
        again = "Answer them again with --retry-errors; add -v to see where each error was raised"
        typer.echo(f"convqa: failed turns count as unanswered. {again}.", err=True)
    return 1 if summary.failures else 0
