"""Options that several commands share, and how their values are read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from convqa.errors import InputError

PipelineName = Annotated[
    str, typer.Option("--pipeline", help="A shipped pipeline, or a YAML file's path; default is the task's own.")
]
Collection = Annotated[
    str | None,
    typer.Option(
        "--collection",
        help="Where the passages are: a folder made by convqa index, or a file of passages (JSONL, plain or gzip).",
        show_default=False,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NODE.PARAM=VALUE", help="Change one parameter of the pipeline; may be repeated."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def one_of(position: Path | None, option: Path | None, name: str) -> Path | None:
    """A path that may be given by position or by option, not by both.

    :raises InputError: if it is given twice.
    """
    if position is not None and option is not None and position != option:
        raise InputError(f"{name} is given twice: {position} and {option}.")
    return position if position is not None else option


def needed(path: Path | None, name: str) -> Path:
    """A path that must be given.

    :raises InputError: if it is not.
    """
    if path is None:
        raise InputError(f"{name} is missing. See --help.")
    return path
