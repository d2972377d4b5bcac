"""``convqa train``: train a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from convqa.cli.app import command
from convqa.cli.options import DeviceName, Quiet, parse_settings
from convqa.cli.progress import ProgressDisplay
from convqa.training import RECIPES


@command
def train(
    recipe: Annotated[str, Argument(metavar="RECIPE", help=f"{', '.join(RECIPES)}.")],
    data: Annotated[Path, Option(help="Folder of the examples (see docs/reference/training.md).")],
    config: Annotated[
        Path | None,
        Argument(metavar="CONFIG", help="YAML file of settings.", show_default="configs/training/RECIPE.yaml"),
    ] = None,
    output: Annotated[Path | None, Option(help="Output folder.", show_default="out/training/RECIPE")] = None,
    settings: Annotated[
        list[str] | None,
        Option("--set", metavar="FIELD=VALUE", help="Set one of the settings. Repeatable."),
    ] = None,
    device: Annotated[DeviceName, Option(help="Device to train on.")] = "auto",
    quiet: Quiet = False,
) -> None:
    """Train, validate and export a model."""
    from convqa.models.engines.torch import runtime as torch_runtime
    from convqa.training.config import load

    chosen = load(recipe, config, parse_settings(settings, "FIELD"))
    torch_device = torch_runtime.device(device)
    from convqa.training.loop import Bench
    from convqa.training.recipe import summary
    from convqa.training.train import train as train_model

    precision = chosen.precision
    if precision == "auto":
        precision = torch_runtime.fast_precision(torch_device)
    with ProgressDisplay("training", "steps", quiet) as progress:
        bench = Bench(
            output or Path("out", "training", recipe),
            data,
            torch_device,
            precision,
            lambda done, steps, loss: progress(done, steps, f"loss {loss:.3f}"),
        )
        model, scores = train_model(chosen, bench)
    if not quiet:
        typer.echo("\n".join(summary(scores)))
        typer.echo(f"Model: {model}")
