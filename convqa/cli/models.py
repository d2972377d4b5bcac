"""``convqa models``: list, install and export models."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Literal

import typer

from convqa.cli.app import group
from convqa.cli.options import AllowDownload

Name = Annotated[str, typer.Argument(metavar="NAME", help="Folder or Hugging Face model (OWNER/NAME).")]
Target = Annotated[Path, typer.Argument(metavar="TARGET", help="Folder to create.")]

models = group("models", "List, install and export models.")


@models("list")
def list_models() -> None:
    """List the models that ship with convqa, and the installed ones."""
    from convqa.models.folder import read_manifest
    from convqa.models.source import local_models

    for name, folder in local_models().items():
        manifest = read_manifest(folder)
        typer.echo(
            f"{name:<15}{manifest.kind:<15}{manifest.precision:<10}{_megabytes(folder):>5} MB  {manifest.licence:<12}"
            f"from {manifest.base}"
        )


@models("get")
def get_model(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the model: multilingual, or your own.")],
    source: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder made by convqa models export.")],
) -> None:
    """Install a model, so that its name finds it.

    Passages in languages that the shipped encoder does not know get vectors of the encoder "multilingual", once it is
    installed. python -m recipes.multilingual makes it, in a checkout of convqa (docs/reference/languages.md).
    """
    from convqa.models.source import install

    folder = install(name, source)
    typer.echo(f"{folder}: {_megabytes(folder)} MB")


@models("export")
def export_model(
    name: Name,
    target: Target,
    precision: Annotated[Literal["float32", "int8"], typer.Option(help="Precision of the weights.")] = "float32",
    allow_download: AllowDownload = False,  # noqa: ARG001
) -> None:
    """Export a torch model to ONNX Runtime.

    Works for encoders, pair scorers and readers. int8 makes a model smaller and faster, and changes its results
    slightly.
    """
    from convqa.models.export import export

    start = time.perf_counter()
    export(name, target, precision)
    typer.echo(f"{target}: {_megabytes(target)} MB in {time.perf_counter() - start:.0f} s")


def _megabytes(folder: Path) -> float:
    return round(sum(file.stat().st_size for file in folder.iterdir()) / 1e6, 1)
