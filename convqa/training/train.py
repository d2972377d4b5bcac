"""The base of all recipes: a training with its examples and its model, in a folder of its own."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import yaml
from filelock import FileLock, Timeout

from convqa.errors import InputError
from convqa.files import whole_file
from convqa.models.folder import ModelFolder
from convqa.models.source import find_model
from convqa.safe_yaml import read_yaml
from convqa.training.config import Settings

Scores = dict[str, dict[str, float]]
"""Set -> measure -> value."""

Progress = Callable[[int, int, float], None]
"""Called after every step: steps done, steps in all, the loss (a running mean)."""

_NOTE = "training.yaml"

_FREE = {"checkpoint", "data"}
"""Settings that may change between an interrupted training and the one that goes on."""


@dataclass(frozen=True, slots=True)
class Bench:
    """The place of a training. ``folder`` keeps what is made on the way; ``data`` holds the examples."""

    folder: Path
    data: Path | None = None
    device: str = "cpu"
    precision: str = "float32"
    progress: Progress | None = None


class Recipe:
    """A recipe: a class ``Training`` in its module ``convqa.training.NAME``.

    Made of its settings, it holds the examples, their targets and the model. ``fit()`` trains, and does nothing where
    that is done already; ``validate()`` gives the scores on examples that it was not trained on; ``export(scores,
    target)`` writes the model, as it is used, to a folder that is not there yet.
    """

    def __init__(self, settings: Any, bench: Bench) -> None:
        self.settings, self.bench = settings, bench


def train(settings: Settings, bench: Bench) -> tuple[Path, Scores]:
    """Train, validate and export; the folder of the model, and its scores.

    Goes on where an interrupted training of the same settings stopped in the same folder; one that is done is only
    validated and exported.
    """
    recipe: Any = importlib.import_module(f"convqa.training.{settings.recipe}").Training
    bench.folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(bench.folder / ".lock", timeout=0):
            _same_training(settings, bench.folder)
            training = recipe(settings, bench)
            # Only now: what the recipe refuses, such as a mistyped base, does not bind the folder.
            with whole_file(bench.folder / _NOTE) as file:
                file.write(yaml.safe_dump(settings.model_dump(mode="json"), sort_keys=False).encode())
            training.fit()
            scores = training.validate()
            target = _free(bench.folder)
            training.export(scores, target)
            with whole_file(bench.folder / "scores.json") as file:
                file.write(orjson.dumps(scores, option=orjson.OPT_INDENT_2))
    except Timeout:
        raise InputError(f"{bench.folder}: another process trains in this folder; choose another.") from None
    return target, scores


def trainable(base: str) -> ModelFolder:
    """The folder of a model of transformers."""
    folder = find_model(base)
    if folder.has_onnx:
        raise InputError(
            f"base: {base} is a model for ONNX Runtime, which cannot be trained; wanted one of transformers, a folder "
            "with config.json and weights, or a Hugging Face name."
        )
    return folder


def need_extra() -> None:
    """Refuse where the packages for training are not installed."""
    missing = [name for name in ("torch", "transformers", "onnx") if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(f"training needs {', '.join(missing)}. Run: pip install 'convqa[train]'")


def summary(scores: Mapping[str, Mapping[str, float]]) -> list[str]:
    """A line for each set.

    >>> summary({"validation": {"F1": 0.81234, "turns": 253}})
    ['validation: F1 0.812, turns 253']
    """
    return [
        f"{name}: " + ", ".join(f"{measure} {value:.3f}" if value % 1 else f"{measure} {value:.0f}" for measure, value
                                in row.items())
        for name, row in scores.items()
    ]  # fmt: skip


def _same_training(settings: Settings, folder: Path) -> None:
    """Refuse if the folder holds a training with other settings."""
    if not (folder / _NOTE).exists():
        return
    now, before = settings.model_dump(mode="json"), read_yaml(folder / _NOTE, "note of the training") or {}
    names = sorted(name for name in now.keys() | before.keys() if now.get(name) != before.get(name))
    other = "; ".join(f"{name} {before.get(name)!r}, now {now.get(name)!r}" for name in names if name not in _FREE)
    if other:
        raise InputError(f"{folder} holds a training with other settings ({other}). Choose another --output.")


def _free(folder: Path) -> Path:
    """``model``, or the first of model-2, model-3 ... that is not there: no model is written over."""
    number, target = 1, folder / "model"
    while target.exists():
        number += 1
        target = folder / f"model-{number}"
    return target
