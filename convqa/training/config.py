"""Training settings: a validated YAML file with changes from the command line."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from convqa.errors import InputError, nearest
from convqa.places import shipped
from convqa.safe_yaml import read_yaml
from convqa.training import RECIPES
from convqa.validation import Record, read_as

Share = Annotated[float, Field(strict=False, ge=0, le=1)]
# Not strict, because YAML 1.1 reads 2e-4 as a string.
Positive = Annotated[float, Field(strict=False, gt=0, allow_inf_nan=False)]
Precision = Literal["auto", "float32", "bfloat16"]


class Settings(Record, extra="forbid"):
    """Settings of all recipes.

    ``base``: the base model, a folder or a Hugging Face name. ``seed``: of initial weights and of the order of
    examples. ``epochs`` may be fractional. ``rate``: peak learning rate. ``precision``: of torch's matrix products.
    """

    recipe: str
    base: str = Field(min_length=1)
    seed: int = Field(1, ge=0)
    epochs: Positive
    batch: int = Field(32, ge=1)
    rate: Positive
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


class ResolverSettings(Settings):
    """``pattern``: minimum conversations with an insertion pattern."""

    recipe: Literal["resolver"]
    pattern: int = Field(8, ge=1)


class ReaderSettings(Settings):
    """Settings of the recipe ``reader``."""

    recipe: Literal["reader"]


class QueryEncoderSettings(Settings):
    """``teacher``: the encoder whose vectors the passages of a collection have; ``base`` holds its weights."""

    recipe: Literal["query_encoder"]
    teacher: str = "encoder"


_SHAPES: dict[str, type[Settings]] = {
    "query_encoder": QueryEncoderSettings,
    "reader": ReaderSettings,
    "resolver": ResolverSettings,
}


def load(
    recipe: str,
    path: Path | None = None,
    changes: Mapping[str, Any] | None = None,
) -> Settings:
    """Load the settings of a recipe.

    :param path: a YAML file; None = the shipped ``configs/training/RECIPE.yaml``.
    :param changes: settings that override the file's.
    """
    if recipe not in RECIPES:
        raise InputError(f"recipe: expected one of {', '.join(RECIPES)}, got {recipe!r}.{nearest(recipe, RECIPES)}")
    shape = _SHAPES[recipe]
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
