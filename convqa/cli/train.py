"""``convqa train``: train a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from convqa.cli.app import command
from convqa.cli.options import parsed
from convqa.cli.progress import Progress
from convqa.training import recipe_names

Device = Literal["auto", "cpu", "cuda", "mps"]


@command
def train(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help=f"Recipe: {', '.join(recipe_names())}.")],
    data: Annotated[Path, typer.Option(help="Folder of the examples (see docs/reference/training.md).")],
    config: Annotated[
        Path | None,
        typer.Argument(metavar="CONFIG", help="YAML file of settings.", show_default="configs/training/RECIPE.yaml"),
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Output folder.", show_default="out/training/RECIPE")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="Set one of the settings. Repeatable."),
    ] = None,
    device: Annotated[Device, typer.Option(help="Device to train on.")] = "auto",
    quiet: Annotated[bool, typer.Option("--quiet", help="Hide progress and summary.")] = False,
) -> None:
    """Train, validate and export a model.

    Run the same command again to continue from the last checkpoint.
    """
    from convqa.training.config import load
    from convqa.training.train import Bench, need_extra, summary
    from convqa.training.train import train as train_model

    chosen = load(recipe, config, parsed(settings, "FIELD"))
    need_extra()
    from convqa.models.engines.torch import runtime as torch_runtime

    chosen_device = torch_runtime.device(device)
    precision = getattr(chosen, "precision", "float32")  # not every recipe has a choice
    if precision == "auto":
        precision = torch_runtime.fast_precision(chosen_device)
    with Progress("training", "steps", quiet) as shown:
        bench = Bench(
            output or Path("out", "training", recipe),
            data,
            chosen_device,
            precision,
            lambda done, steps, loss: shown(done, steps, f"loss {loss:.3f}"),
        )
        model, scores = train_model(chosen, bench)
    if not quiet:
        typer.echo("\n".join(summary(scores)))
        typer.echo(f"Model: {model}")
