"""``convqa ablate``: a grid of pipelines over inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from convqa.cli.app import command
from convqa.cli.options import AllowDownload, Json, print_json
from convqa.cli.progress import Progress

if TYPE_CHECKING:
    from rich.table import Table

_COLUMNS = 4
"""Measures that a table shows where the ablation names none."""


@command
def ablate(
    ablation: Annotated[str, typer.Argument(metavar="ABLATION", help="A shipped ablation, or a YAML file's path.")],
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="INPUT_DIR... OUTPUT_DIR", help="The inputs, each with its truth, and then the output."),
    ],
    task: Annotated[str, typer.Option(help="Whose files the inputs hold: auto, or a task's name.")] = "auto",
    turns: Annotated[
        int | None, typer.Option(min=1, help="Only the first conversations of each input, up to N turns together.")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(min=0, help="Stop after so long; the same command goes on from there.")
    ] = None,
    sharing: Annotated[
        bool, typer.Option(help="Look up what other cells have computed, or compute all anew in each cell.")
    ] = True,
    restart: Annotated[bool, typer.Option("--restart", help="Throw away the runs that OUTPUT_DIR holds.")] = False,
    allow_download: AllowDownload = False,  # noqa: ARG001 - the option itself permits
    json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no table.")] = False,
) -> int:
    """Run a grid of pipelines over inputs: each cell is a run in OUTPUT_DIR/cells, evaluated where there is truth.

    The same command again goes on where it was stopped. Exit codes: 0 done; 1 a cell or some of its turns failed, or it
    was not reached; 2 a mistake in the ablation or an input.
    """
    from convqa.errors import InputError
    from convqa.experiments.ablate import ablate as run

    if len(paths) < 2:
        raise InputError("wanted one INPUT_DIR or more, and then OUTPUT_DIR. See --help.")
    *inputs, output = paths
    bars = _Bars(quiet)
    record = run(
        ablation, inputs, output, task=task, turns=turns, minutes=minutes, sharing=sharing, restart=restart,
        progress=bars.next,
    )  # fmt: skip
    bars.close()
    if json:
        print_json(record)
    elif not quiet:
        from rich.console import Console

        for name in [one["name"] for one in record["inputs"]]:
            Console().print(_table(record, name))
        for note in _notes(record):
            typer.echo(f"convqa: {note}", err=True)
        typer.echo(f"Written: {output / 'ablation.json'}. Tables, plots and turns: convqa report {output}")
    return int(any(cell["status"] != "skipped" and cell["message"] for cell in record["cells"]))


class _Bars:
    """A progress bar for each cell, one after the other."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._bar: Progress | None = None

    def next(self, label: str) -> Progress:
        self.close()
        self._bar = Progress(label, "turns", self._quiet)
        return self._bar

    def close(self) -> None:
        if self._bar is not None:
            self._bar.__exit__(None, None, None)


def _table(record: Mapping[str, Any], name: str) -> Table:
    """The measures of one input, best values bold."""
    from rich.table import Table
    from rich.text import Text

    cells = [cell for cell in record["cells"] if cell["input"] == name]
    # Measures of rankings come first.
    known = sorted({key: None for cell in cells for key in cell["measures"]}, key=lambda key: not _ranks(key))
    shown = record["measures"] or known[:_COLUMNS]
    about = next(source for source in record["inputs"] if source["name"] == name)
    numbers = "" if about["conversations"] == "all" else f", {about['conversations']} conversations"
    title = f"{name}: {about['turns']:,} turns{numbers}, history {about['history']}"
    table = Table(title=Text(title), title_justify="left")
    table.add_column("row", no_wrap=True)
    for head in (*shown, "ms/turn"):
        table.add_column(Text(head), justify="right", overflow="fold")
    means = {(cell["row"], key): score["mean"] for cell in cells for key, score in cell["measures"].items()}
    best = {key: max((mean for (_, of), mean in means.items() if of == key), default=None) for key in shown}
    for cell in cells:
        values = [means.get((cell["row"], key)) for key in shown]
        texts = [
            Text("-" if mean is None else f"{mean:.3f}", "bold" if mean is not None and mean == best[key] else "")
            for key, mean in zip(shown, values, strict=True)
        ]
        milliseconds = f"{sum(cell['milliseconds'].values()):.1f}" if cell["status"] == "done" else cell["status"]
        table.add_row(Text(cell["row"]), *texts, milliseconds)
    return table


def _ranks(measure: str) -> bool:
    return measure.startswith(("MRR", "nDCG"))


def _notes(record: Mapping[str, Any]) -> Iterator[str]:
    """Each message of the cells once, with the rows that it is about."""
    rows: dict[tuple[str, str], list[str]] = {}
    for cell in record["cells"]:
        if cell["message"]:
            rows.setdefault((cell["status"], cell["message"]), []).append(f"{cell['row']} over {cell['input']}")
    for (status, message), about in rows.items():
        more = f" and {len(about) - 3} more" if len(about) > 3 else ""
        yield f"{'' if status == 'done' else f'{status}: '}{', '.join(about[:3])}{more}: {message}"
