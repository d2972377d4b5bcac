"""The base of all recipes, the steps of a training in its folder, and model cards."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import yaml
from filelock import FileLock, Timeout

import convqa
from convqa.errors import InputError
from convqa.files import whole_file
from convqa.models.folder import ModelFolder, check_target
from convqa.models.source import find_model
from convqa.plugins import load as load_plugin
from convqa.plugins import plugins
from convqa.training import GROUP
from convqa.training.config import Settings

Scores = dict[str, dict[str, float]]
"""Set -> measure -> value."""

Progress = Callable[[int, int, float], None]
"""Called after every step with steps done, total steps, and the running mean of the loss."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Where and how to train. ``folder`` holds intermediate files and the model; ``data`` holds the examples."""

    folder: Path
    data: Path
    device: str = "cpu"
    precision: str = "float32"
    progress: Progress | None = None


class Recipe:
    """Base of a recipe: a subclass in the module ``convqa.training.NAME``, or in the module of an entry point.

    It holds the examples, their targets and the model.
    """

    def __init__(self, settings: Any, bench: Bench) -> None:
        self.settings = settings
        self.bench = bench

    def fit(self) -> None:
        """Train."""
        raise NotImplementedError

    def validate(self) -> Scores:
        """Return the scores on held-out examples."""
        raise NotImplementedError

    def export(self, scores: Scores, target: Path) -> None:
        """Write the model to a new folder."""
        raise NotImplementedError


def find_recipe(name: str) -> type[Recipe]:
    """Return the class of a recipe: the subclass of :class:`Recipe` in its module."""
    point = plugins(GROUP).get(name)
    module = load_plugin(point) if point else importlib.import_module(f"convqa.training.{name}")
    classes = [member for member in vars(module).values() if isinstance(member, type)]
    return next(member for member in classes if issubclass(member, Recipe) and member.__module__ == module.__name__)


def train(settings: Settings, bench: Bench) -> tuple[Path, Scores]:
    """Train, validate and export a model; returns its folder and its scores.

    Resumes an interrupted training of the same settings in the same folder.
    """
    recipe = find_recipe(settings.recipe)
    bench.folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(bench.folder / ".lock", timeout=0):
            target = bench.folder / "model"
            check_target(target)
            training = recipe(settings, bench)
            training.fit()
            scores = training.validate()
            with whole_file(bench.folder / "scores.json") as file:
                file.write(orjson.dumps(scores, option=orjson.OPT_INDENT_2))
            training.export(scores, target)
    except Timeout:
        raise InputError(f"{bench.folder}: another process is training in this folder; choose another.") from None
    return target, scores


def trainable(base: str) -> ModelFolder:
    """Find the folder of a transformers model."""
    folder = find_model(base)
    if folder.has_onnx:
        raise InputError(
            f"base: {base} is an ONNX Runtime model, which cannot be trained; expected a transformers model: a folder "
            "with config.json and weights, or a Hugging Face name."
        )
    return folder


def summary(scores: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return a line per set.

    >>> summary({"validation": {"F1": 0.81234, "turns": 253}})
    ['validation: F1 0.812, turns 253']
    """
    lines = []
    for name, row in scores.items():
        figures = [f"{measure} {value:.{3 if value % 1 else 0}f}" for measure, value in row.items()]
        lines.append(f"{name}: {', '.join(figures)}")
    return lines


def card(
    title: str,
    settings: Settings,
    scores: Scores,
    use: str,
    sources: str,
    licence: str = "",
) -> str:
    """Return the card as Markdown.

    :param sources: what the examples were made of, as Markdown. :param licence: the licence of the base model.
    """
    base = name_of(settings.base)
    dumped = settings.model_dump(mode="json") | {"base": base}
    score_lines = "\n".join(f"- {line}" for line in summary(scores))
    return (
        f"# {title}\n\n{use}\n\n"
        f"Trained by `convqa train {settings.recipe}` of convqa {convqa.__version__}, from {base}.\n\n"
        f"Licence: {licence or 'as the base'}; the training data have licences of their own.\n\n"
        f"## Data\n\n{sources}\n\n"
        f"## Scores\n\n{score_lines}\n\n"
        f"## Settings\n\n```yaml\n{yaml.safe_dump(dumped, sort_keys=False)}```\n"
    )


def name_of(base: str) -> str:
    """Return a model's name for publication, without the path of a folder.

    >>> name_of("sentence-transformers/all-MiniLM-L6-v2"), name_of("./models/all-MiniLM-L6-v2")
    ('sentence-transformers/all-MiniLM-L6-v2', 'all-MiniLM-L6-v2')
    """
    path = Path(base).expanduser()
    return path.name if path.is_dir() or base.startswith((".", "/", "~")) else base
