"""The base of all recipes, the steps of a training in its folder, and model cards."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
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
from convqa.plugins import load, plugins
from convqa.safe_yaml import read_yaml
from convqa.training.config import GROUP, RECIPES, Settings
from convqa.training.examples import TRAIN, files

Scores = dict[str, dict[str, float]]
"""Set -> measure -> value."""

Progress = Callable[[int, int, float], None]
"""Called after every step with steps done, total steps, and the running mean of the loss."""

_NOTE = "training.yaml"

_FREE = {"checkpoint"}
"""Settings that may change when a training resumes."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Where and how to train. ``folder`` holds intermediate files and the model; ``data`` holds the examples."""

    folder: Path
    data: Path
    device: str = "cpu"
    precision: str = "float32"
    progress: Progress | None = None


class Recipe:
    """Base of a recipe, the class ``Training`` in ``convqa.training.NAME``.

    It holds the examples, their targets and the model. ``fit()`` trains; ``validate()``
    returns the scores on held-out examples; ``export(scores, target)`` writes the model to a new folder.
    """

    def __init__(self, settings: Any, bench: Bench) -> None:
        self.settings, self.bench = settings, bench


def train(settings: Settings, bench: Bench) -> tuple[Path, Scores]:
    """Train, validate and export a model; returns its folder and its scores.

    Resumes an interrupted training of the same settings in the same folder.
    """
    if settings.recipe in RECIPES:
        module: Any = importlib.import_module(f"convqa.training.{settings.recipe}")
    else:
        module = load(plugins(GROUP)[settings.recipe])
    bench.folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(bench.folder / ".lock", timeout=0):
            note = settings.model_dump(mode="json") | {"examples": _sizes(bench.data)}
            _same_training(note, bench.folder)
            target = bench.folder / "model"
            check_target(target)
            training = module.Training(settings, bench)
            # Written last, so that settings that the recipe refuses, such as a mistyped base, do not bind the folder.
            with whole_file(bench.folder / _NOTE) as file:
                file.write(yaml.safe_dump(note, sort_keys=False).encode())
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


def need_extra() -> None:
    """Raise InputError if the packages for training are not installed."""
    missing = [name for name in ("torch", "transformers", "onnx") if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(f"training needs {', '.join(missing)}. Run: pip install 'convqa[train]'")


def summary(scores: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return a line per set.

    >>> summary({"validation": {"F1": 0.81234, "turns": 253}})
    ['validation: F1 0.812, turns 253']
    """
    lines = []
    for name, row in scores.items():
        figures = [
            f"{measure} {value:.3f}" if value % 1 else f"{measure} {value:.0f}" for measure, value in row.items()
        ]
        lines.append(f"{name}: {', '.join(figures)}")
    return lines


def _sizes(folder: Path) -> dict[str, int]:
    """Return the bytes of each training file, which tell other examples."""
    return {path.name: path.stat().st_size for path in files(folder, TRAIN).values()}


def _same_training(now: Mapping[str, Any], folder: Path) -> None:
    """Raise InputError if the folder holds a training with other settings or examples."""
    if not (folder / _NOTE).exists():
        return
    before = read_yaml(folder / _NOTE, "note of the training") or {}
    names = sorted(name for name in now.keys() | before.keys() if now.get(name) != before.get(name))
    changes = "; ".join(f"{name} {before.get(name)!r}, now {now.get(name)!r}" for name in names if name not in _FREE)
    if changes:
        raise InputError(f"{folder} holds another training ({changes}). Choose another --output.")


def card(title: str, settings: Settings, scores: Sequence[str], use: str, sources: str, licence: str = "") -> str:
    """Return the card as Markdown.

    :param sources: what the examples were made of, as Markdown. :param licence: the licence of the base model.
    """
    dumped = settings.model_dump(mode="json") | {"base": name_of(settings.base)}
    return "\n".join(
        [
            f"# {title}\n\n{use}\n",
            f"Trained by `convqa train {settings.recipe}` of convqa {convqa.__version__}, from {dumped['base']}.\n",
            f"Licence: {licence or 'as the base'}; the training data have licences of their own.\n",
            f"## Data\n\n{sources}\n",
            "## Scores\n",
            *(f"- {line}" for line in scores),
            f"\n## Settings\n\n```yaml\n{yaml.safe_dump(dumped, sort_keys=False)}```\n",
        ]
    )


def name_of(base: str) -> str:
    """Return a model's name for publication, without the path of a folder.

    >>> name_of("sentence-transformers/all-MiniLM-L6-v2"), name_of("./models/all-MiniLM-L6-v2")
    ('sentence-transformers/all-MiniLM-L6-v2', 'all-MiniLM-L6-v2')
    """
    path = Path(base).expanduser()
    return path.name if path.is_dir() or base.startswith((".", "/", "~")) else base
