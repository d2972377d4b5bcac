"""What every recipe is: setup, fit, validate, export, in this order, in a folder of its own."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import orjson
import yaml
from filelock import FileLock, Timeout

from convqa.errors import InputError
from convqa.files import whole_file
from convqa.training.config import LoopSettings, RewriteSettings, Settings
from convqa.training.data.records import named_folder
from convqa.training.data.rewrites import Example
from convqa.training.data.split import OWN, Split, read_own, split, with_own

if TYPE_CHECKING:  # the loop needs torch
    from convqa.training.loop import Plan, Progress

Scores = dict[str, dict[str, float]]
"""Set -> measure -> value."""

_NOTE = "training.yaml"

_FREE = {"checkpoint", "data"}
"""Settings that may change between an interrupted training and the one that goes on."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Where a training takes place. ``folder`` keeps what is made on the way; ``data`` holds the examples."""

    folder: Path
    data: Path | None = None
    device: str = "cpu"
    precision: str = "float32"
    progress: Progress | None = None


class Recipe(Protocol):
    """A module ``convqa.training.NAME``. ``work`` is what its setup made."""

    def setup(self, settings: Any, bench: Bench) -> Any:
        """Examples, targets and the model before training."""

    def fit(self, work: Any) -> None:
        """Train; a training that is done already does nothing."""

    def validate(self, work: Any) -> Scores:
        """How good the trained model is, on examples that it was not trained on."""

    def export(self, work: Any, scores: Scores, target: Path) -> None:
        """Write the model, as it is used, to a folder that is not there yet."""


def train(settings: Settings, bench: Bench) -> tuple[Path, Scores]:
    """Train, validate and export; the folder of the model, and its scores.

    Goes on where an interrupted training of the same settings stopped in the same folder; one that is done is only
    validated and exported.

    :raises InputError: if the folder holds another training, or one that another process is at.
    """
    recipe: Recipe = cast(Recipe, importlib.import_module(f"convqa.training.{settings.recipe}"))
    bench.folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(bench.folder / ".lock", timeout=0):
            _same_training(settings, bench.folder)
            work = recipe.setup(settings, bench)
            # Only now: what setup refuses, such as a mistyped base, does not bind the folder.
            _note(settings, bench.folder)
            recipe.fit(work)
            scores = recipe.validate(work)
            target = _free(bench.folder)
            recipe.export(work, scores, target)
            with whole_file(bench.folder / "scores.json") as file:
                file.write(orjson.dumps(scores, option=orjson.OPT_INDENT_2))
    except Timeout:
        raise InputError(f"{bench.folder}: another process trains in this folder; choose another.") from None
    return target, scores


def gather(settings: RewriteSettings, data: Path | None) -> Split:
    """The split that the settings name, from the data folder.

    :raises InputError: if no folder was named, or if it lacks files.
    """
    data = named_folder(data)
    given = split(data) if settings.sets() - {OWN} else None
    return with_own(given, read_own(data / name for name in settings.own)) if settings.own else _needed(given)


def mixed(settings: RewriteSettings, found: Split) -> list[Example]:
    """The examples to train on, as often and in the order in which the settings name their sets.

    :raises InputError: if they are too few for the loop.
    """
    examples = [
        example
        for part in settings.mix
        for _ in range(part.times)
        for name in part.sets
        for example in found.training[name]
    ]
    plan_of(settings).steps(len(examples))  # before the recipe's long work
    return examples


def plan_of(settings: LoopSettings) -> Plan:
    """The settings of the loop."""
    from convqa.training.loop import Plan

    names = ("epochs", "batch", "rate", "warmup", "seed", "checkpoint", "clip", "decay")
    return Plan(**{name: getattr(settings, name) for name in names})


def need_extra() -> None:
    """Refuse where the packages for training are not installed.

    :raises InputError: naming what to install.
    """
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


def _needed(found: Split | None) -> Split:
    assert found is not None  # mix is never empty
    return found


def _same_training(settings: Settings, folder: Path) -> None:
    """Refuse if the folder holds a training with other settings."""
    path = folder / _NOTE
    now = settings.model_dump(mode="json")
    if path.exists():
        before = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        names = [name for name in now.keys() | before.keys() if name not in _FREE and now.get(name) != before.get(name)]
        if names:
            other = "; ".join(f"{name} {before.get(name)!r}, now {now.get(name)!r}" for name in sorted(names))
            raise InputError(f"{folder} holds a training with other settings ({other}). Choose another --output.")


def _note(settings: Settings, folder: Path) -> None:
    with whole_file(folder / _NOTE) as file:
        file.write(yaml.safe_dump(settings.model_dump(mode="json"), sort_keys=False).encode())


def _free(folder: Path) -> Path:
    """``model``, or the first of model-2, model-3 ... that is not there: no model is written over."""
    number, target = 1, folder / "model"
    while target.exists():
        number += 1
        target = folder / f"model-{number}"
    return target
