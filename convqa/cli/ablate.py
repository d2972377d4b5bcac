"""``convqa ablate``: a grid of pipelines over inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    from convqa.experiments.ablate import Limits
    from convqa.experiments.ablate import ablate as run

    if len(paths) < 2:
        raise InputError("wanted one INPUT_DIR or more, and then OUTPUT_DIR. See --help.")
    *inputs, output = paths
    bars = _Bars(quiet)
    record = run(
        ablation, inputs, output, task=task, limits=Limits(turns, minutes), sharing=sharing, restart=restart,
        progress=bars.next,
    )  # fmt: skip
    bars.close()
    if json:
        print_json(record)
    elif not quiet:
        from rich.console import Console

        for name in [one["name"] for one in record["inputs"]]:
            Console().print(_table(record, name))
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
    """The measures of one input, best values bold; a cell that has none says why."""
    from rich.table import Table
    from rich.text import Text

    cells = [cell for cell in record["cells"] if cell["input"] == name]
    shown = record["measures"] or list(dict.fromkeys(key for cell in cells for key in cell["measures"]))[:_COLUMNS]
    about = next(one for one in record["inputs"] if one["name"] == name)
    numbers = "" if about["conversations"] == "all" else f", {about['conversations']} conversations"
    title = f"{name}: {about['turns']:,} turns{numbers}, history {about['history']}"
    table = Table(title=Text(title), title_justify="left")
    for head in ("row", *shown, "ms/turn"):
        table.add_column(
            Text(head), justify="left" if head == "row" else "right", no_wrap=head == "row", overflow="fold"
        )
    best = {key: max((cell["measures"][key]["mean"] for cell in cells if key in cell["measures"]), default=0) for key in
            shown}  # fmt: skip
    for cell in cells:
        table.add_row(Text(cell["row"]), *_values(cell, shown, best))
        if cell["status"] == "done" and cell["message"]:
            table.add_row("", Text(cell["message"]))
    return table


def _values(cell: Mapping[str, Any], shown: Sequence[str], best: Mapping[str, float]) -> list[Any]:
    from rich.text import Text

    if cell["status"] != "done":
        return [Text(f"{cell['status']}: {cell['message']}")]
    texts = []
    for key in shown:
        mean = cell["measures"].get(key, {}).get("mean")
        text = "-" if mean is None else f"{mean:.3f}"
        texts.append(Text(text, style="bold" if mean is not None and mean == best[key] else ""))
    return [*texts, Text(f"{sum(cell['milliseconds'].values()):.1f}")]
