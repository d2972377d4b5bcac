"""``convqa models``: list, check, export and quantize models."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from convqa.cli.app import group
from convqa.cli.options import AllowDownload, Device, Json, Precision, options_of, print_json

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="A shipped model, a folder, or a Hugging Face model (OWNER/NAME).")
]
Target = Annotated[Path, typer.Argument(metavar="TARGET", help="The folder to make; it must not be there yet.")]

models = group("models", "List, check, export and quantize models.")


@models("list")
def list_models(json: Json = False) -> None:
    """List the models that ship with convqa."""
    from convqa.models.folder import read_manifest
    from convqa.models.source import SHIPPED, shipped_names

    rows: list[dict[str, Any]] = []
    for name in shipped_names():
        manifest = read_manifest(SHIPPED / name)
        size = sum(file.stat().st_size for file in (SHIPPED / name).iterdir())
        rows.append(
            {"name": name, "kind": manifest.kind, "precision": manifest.precision, "megabytes": round(size / 1e6, 1),
             "licence": manifest.licence, "base": manifest.base}
        )  # fmt: skip
    if json:
        print_json(rows)
        return
    for row in rows:
        typer.echo(
            f"{row['name']:<12}{row['kind']:<12}{row['precision']:<10}{row['megabytes']:>5} MB  {row['licence']:<12}"
            f"from {row['base']}"
        )


@models("check")
def check_model(
    name: Name,
    speed: Annotated[
        bool, typer.Option("--speed", help="Measure every device and precision that the model can run in here.")
    ] = False,
    device: Device = "auto",
    precision: Precision = "auto",
    json: Json = False,
    allow_download: AllowDownload = False,  # noqa: ARG001 - the option itself permits
) -> None:
    """Load a model, verify its checksums, run it on a small sample, and say what it is; exit code 2 if it is bad.

    --speed gives advice alone: no command chooses by a timing.
    """
    from convqa.models import Options
    from convqa.models.check import check, speeds

    options = Options(**options_of(device, precision))
    found: Any = check(name, options)
    if speed:
        found["speeds"] = speeds(name, options)
    if json:
        print_json(found)
        return
    rows = found.pop("speeds", [])
    for key, value in found.items():
        typer.echo(f"{key:<16}{value}")
    for row in rows:
        typer.echo(f"{row['runs']:<28}{row['rate']:>10,.1f} {row['unit']}/s")
    if rows and rows[0]["runs"] != found["runs"]:
        best = f"--device {rows[0]['device']} --precision {rows[0]['precision']}"
        typer.echo(f"Fastest on this sample: {best}. Measure on your own texts before a long run.")


@models("export")
def export_model(name: Name, target: Target, allow_download: AllowDownload = False) -> None:  # noqa: ARG001
    """Export an encoder, a scorer of pairs or a reader from torch to ONNX Runtime, in float32."""
    from convqa.models.export import export

    start = time.perf_counter()
    export(name, target)
    typer.echo(f"{target}: {_megabytes(target)} in {time.perf_counter() - start:.0f} s")
    typer.echo(f"Make it smaller and faster: convqa models quantize {target} TARGET")


@models("quantize")
def quantize_model(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="A float32 model made by convqa models export.")],
    target: Target,
) -> None:
    """Make a float32 model int8."""
    from convqa.models.export import quantize

    quantize(folder, target)
    typer.echo(f"{target}: {_megabytes(target)}")
    typer.echo("Measure what it costs on your own texts: convqa evaluate, or convqa compare two runs.")


def _megabytes(folder: Path) -> str:
    return f"{sum(file.stat().st_size for file in folder.iterdir()) / 1e6:.1f} MB"
