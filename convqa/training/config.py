"""Training settings: a validated YAML file with changes from the command line."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field

from convqa.errors import InputError, nearest
from convqa.places import shipped
from convqa.plugins import load as load_plugin
from convqa.plugins import plugins
from convqa.safe_yaml import read_yaml
from convqa.training import GROUP, recipe_names
from convqa.validation import Record, read_as

Share = Annotated[float, Field(strict=False, ge=0, le=1)]
# Not strict, because YAML 1.1 reads 2e-4 as a string.
Positive = Annotated[float, Field(strict=False, gt=0, allow_inf_nan=False)]
Precision = Literal["auto", "float32", "bfloat16"]


class Settings(Record, extra="forbid"):
    """Settings of all recipes. ``base``: the base model, a folder or a Hugging Face name.

    A recipe's own settings derive from it, with ``recipe: Literal[NAME]``.
    """

    classes: ClassVar[dict[str, type[Settings]]] = {}
    """Recipe -> the class of its settings."""

    recipe: str
    base: str = Field(min_length=1)

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        for name in get_args(cls.model_fields["recipe"].annotation):
            Settings.classes[name] = cls


class LoopSettings(Settings):
    """Settings of the training loop (``convqa.training.loop``).

    ``seed``: of initial weights and of the order of examples. ``epochs`` may be fractional. ``rate``: peak learning
    rate. ``checkpoint``: seconds between checkpoints. ``precision``: of torch's matrix products.
    """

    seed: int = Field(1, ge=0)
    epochs: Positive
    batch: int = Field(32, ge=1)
    rate: Positive
    checkpoint: Positive = 120.0
    precision: Precision = "auto"

    def steps(self, examples: int) -> int:
        """Return the number of batches in all epochs."""
        steps = round(math.ceil(examples / self.batch) * self.epochs)
        # With a warm-up, the first step has rate 0.
        if steps < 2:
            raise InputError(
                f"{examples} examples in batches of {self.batch} for {self.epochs:g} epochs give {steps} steps; "
                "expected at least 2. Add examples, raise epochs or lower batch."
            )
        return steps


class ResolverSettings(LoopSettings):
    """``pattern``: minimum conversations with an insertion pattern."""

    recipe: Literal["resolver"]
    pattern: int = Field(8, ge=1)


class ReaderSettings(LoopSettings):
    """``train``: training files, relative to the folder of the examples; if empty, those named ``train``. ``each``:
    questions to sample from each of them, None for all. ``foreign``: percentage of the answerable questions that are
    also asked of a context without an answer."""

    recipe: Literal["reader"]
    train: list[str] = []
    each: int | None = Field(None, ge=1)
    foreign: int = Field(20, ge=0, le=100)


def load(
    recipe: str,
    path: Path | None = None,
    changes: Mapping[str, Any] | None = None,
) -> Settings:
    """Load the settings of a recipe.

    :param path: a YAML file; None = the shipped ``configs/training/RECIPE.yaml``.
    :param changes: settings that override the file's.
    """
    names = recipe_names()
    if recipe not in names:
        raise InputError(f"recipe: expected one of {', '.join(names)}, got {recipe!r}.{nearest(recipe, names)}")
    point = plugins(GROUP).get(recipe)
    if point is not None:
        load_plugin(point)  # defines the class of its settings
    shape = Settings.classes[recipe]
    path = path or shipped("configs", "training", f"{recipe}.yaml")
    data = read_yaml(path, "training file")
    if isinstance(data, dict):
        data |= changes or {}
    return read_as(
        shape,
        data,
        f"training file {path}",
        f"Fields: {', '.join(shape.model_fields)}.",
    )
