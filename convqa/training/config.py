"""Training settings: a validated YAML file with changes from the command line."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from convqa.errors import InputError, nearest
from convqa.models.types import READER_TOKENS
from convqa.places import shipped
from convqa.plugins import load as load_plugin
from convqa.plugins import plugins
from convqa.safe_yaml import read_yaml
from convqa.validation import Record, read_as

Share = Annotated[float, Field(strict=False, ge=0, le=1)]
# Not strict, because YAML 1.1 reads 2e-4 as a string.
Positive = Annotated[float, Field(strict=False, gt=0, allow_inf_nan=False)]
Precision = Literal["auto", "float32", "bfloat16"]


class Settings(Record, extra="forbid"):
    """Settings of all recipes. ``base``: the base model, a folder or a Hugging Face name."""

    recipe: str
    base: str = Field(min_length=1)


class LoopSettings(Settings):
    """Settings of the training loop (``convqa.training.loop``).

    ``seed``: of initial weights and of the order of examples. ``epochs`` may be fractional. ``rate``: peak learning
    rate. ``warmup``: share of steps in which the rate rises. ``head``: factor on the rate of heads. ``clip``: maximum
    gradient norm. ``checkpoint``: seconds between checkpoints. ``precision``: of torch's matrix products.
    """

    seed: int = Field(1, ge=0)
    epochs: Positive
    batch: int = Field(32, ge=1)
    rate: Positive
    warmup: Annotated[float, Field(strict=False, ge=0, lt=1)] = 0.06
    clip: Positive = 1.0
    decay: Annotated[float, Field(strict=False, ge=0)] = 0.01
    checkpoint: Positive = 120.0
    head: Positive = 5.0
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
    also asked of a context without an answer. ``longest``: maximum tokens of a window."""

    recipe: Literal["reader"]
    train: list[str] = []
    each: int | None = Field(None, ge=1)
    foreign: int = Field(20, ge=0, le=100)
    longest: int = Field(READER_TOKENS, ge=64, le=512)


class SupportSettings(Settings):
    recipe: Literal["support"]


class DecisionSettings(Settings):
    """``base``: the encoder. ``conversations``: sets under ``--data``. ``signals``: those of the regression."""

    recipe: Literal["decision"]
    conversations: list[str] = Field(min_length=1)
    signals: list[Literal["null", "best", "near", "cosine"]] = Field(min_length=1)


RECIPES: Mapping[str, type[Settings]] = {
    "resolver": ResolverSettings,
    "reader": ReaderSettings,
    "support": SupportSettings,
    "decision": DecisionSettings,
}
"""Recipe -> settings class. The recipe itself is the class ``Training`` of ``convqa.training.NAME``."""

GROUP = "convqa.training"
"""The entry point group of other packages' recipes: name = module with ``Training`` and its settings, ``SETTINGS``."""


def load(recipe: str, path: Path | None = None, changes: Mapping[str, Any] | None = None) -> Settings:
    """Load the settings of a recipe.

    :param path: a YAML file; None = the shipped ``configs/training/RECIPE.yaml``.
    :param changes: settings that override the file's.
    """
    outside = plugins(GROUP)
    known = [*RECIPES, *outside]
    if recipe not in known:
        raise InputError(f"recipe: expected one of {', '.join(known)}, got {recipe!r}.{nearest(recipe, known)}")
    shape: type[Settings] = RECIPES[recipe] if recipe in RECIPES else load_plugin(outside[recipe]).SETTINGS
    path = path or shipped("configs", "training", f"{recipe}.yaml")
    data = read_yaml(path, "training file")
    if not isinstance(data, dict):
        kind = "an empty file" if data is None else type(data).__name__
        raise InputError(f"training file {path}: expected fields such as recipe, base, epochs, rate; got {kind}.")
    data |= changes or {}
    advice = f"Fields: {', '.join(shape.model_fields)}."
    return read_as(shape, data, f"training file {path}", advice)
