"""``convqa models``: list, check, export and quantize models."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from convqa.cli.app import group
from convqa.cli.options import AllowDownload, ModelSettings

Name = Annotated[str, typer.Argument(metavar="NAME", help="Shipped model, folder, or Hugging Face model (OWNER/NAME).")]
Target = Annotated[Path, typer.Argument(metavar="TARGET", help="Folder to create.")]

models = group("models", "List, check, export and quantize models.")


@models("list")
def list_models() -> None:
    """List the models that ship with convqa."""
    from convqa.models.folder import read_manifest
    from convqa.models.source import SHIPPED, shipped_names

    for name in shipped_names():
        manifest = read_manifest(SHIPPED / name)
        size = _megabytes(SHIPPED / name)
        typer.echo(
            f"{name:<12}{manifest.kind:<12}{manifest.precision:<10}{size:>5} MB  {manifest.licence:<12}"
            f"from {manifest.base}"
        )


@models("check")
def check_model(name: Name, *, settings: ModelSettings) -> None:
    """Verify a model and run it on a small sample.

    Exit code 2 if the model is damaged or unusable.
    """
    from convqa.models import Options
    from convqa.models.check import check

    for field, value in check(name, Options(**settings.models)).items():
        typer.echo(f"{field:<16}{value}")


@models("export")
def export_model(name: Name, target: Target, allow_download: AllowDownload = False) -> None:  # noqa: ARG001
    """Export a torch model to ONNX Runtime.

    Works for encoders, pair scorers and readers. The result is in float32.
    """
    from convqa.models.export import export

    start = time.perf_counter()
    export(name, target)
    typer.echo(f"{target}: {_megabytes(target)} MB in {time.perf_counter() - start:.0f} s")
    typer.echo(f"To make it smaller and faster: convqa models quantize {target} TARGET")


@models("quantize")
def quantize_model(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="float32 model made by convqa models export.")],
    target: Target,
) -> None:
    """Quantize a float32 model to int8."""
    from convqa.models.export import quantize

    quantize(folder, target)
    typer.echo(f"{target}: {_megabytes(target)} MB")
    typer.echo(f"int8 changes results slightly. Compare {target} with {folder} on your own task before you use it.")


def _megabytes(folder: Path) -> float:
    return round(sum(file.stat().st_size for file in folder.iterdir()) / 1e6, 1)
