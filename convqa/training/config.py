"""The settings of a training: a checked YAML file, and what the command line changes of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import Field, ValidationError, model_validator

from convqa.errors import InputError, nearest
from convqa.models.types import READER_TOKENS
from convqa.places import shipped
from convqa.safe_yaml import read_yaml
from convqa.validation import Record, explain

OWN, INSCIT, SHARC_SEEN = "own", "inscit", "sharc-seen"
"""Names of sets."""

Share = Annotated[float, Field(strict=False, ge=0, le=1)]
# Not strict: YAML 1.1 reads 2e-4, without a point, as a string.
Positive = Annotated[float, Field(strict=False, gt=0, allow_inf_nan=False)]
SetName = Literal["qrecc-dev", "qrecc-4k", "canard", "own"]
ReadingName = Literal["squad2", "new-wiki", "reddit", "own"]
Precision = Literal["auto", "float32", "bfloat16"]


Name = TypeVar("Name")


class Part(Record, Generic[Name], extra="forbid"):
    """Sets of examples, one after the other, so many times."""

    sets: list[Name] = Field(min_length=1)
    times: int = Field(1, ge=1)


class Settings(Record, extra="forbid"):
    """The settings of all recipes.

    ``base``: the model to start from, a folder or a Hugging Face name. ``own``: files of one's own, relative to the
    data folder.
    """

    recipe: str
    base: str = Field(min_length=1)
    seed: int = Field(1, ge=0)
    data: str | None = None
    own: list[str] = []

    @model_validator(mode="after")
    def _own_is_whole(self) -> Settings:
        named = OWN in self.sets()
        if named != bool(self.own):
            raise ValueError("own: files and a part of mix with the set own belong together")
        return self

    def sets(self) -> set[str]:
        """The sets that take part."""
        return {name for part in getattr(self, "mix", ()) for name in part.sets}


class LoopSettings(Settings):
    """The settings of the loop (``convqa.training.loop``).

    ``epochs`` may be a part of one. ``rate``: the peak of the learning rate; ``warmup``: the part of all steps in which
    it rises; ``head``: how many times faster heads learn than the trunk. ``clip``: longest gradient. ``checkpoint``:
    seconds between two. ``precision``: what torch may multiply in.
    """

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
        """How many batches so many examples make in all epochs; the last epoch may be a part of one."""
        steps = round(math.ceil(examples / self.batch) * self.epochs)
        # The rate of the first step is 0 where there is a warm-up.
        if steps < 2:
            raise InputError(
                f"{examples} examples in batches of {self.batch}, {self.epochs:g} times (epochs), make {steps} steps, "
                "which teach nothing; wanted at least 2. Add examples, raise epochs or lower batch."
            )
        return steps


class TalkShares(Record, extra="forbid"):
    """How conversations are made more like those that runs have (``convqa.training.data.talks``).

    ``foreign``: the part of the human examples that another conversation goes before. ``gold``, ``longer``, ``wrong``:
    the parts of their answers that stay, that are told with what a passage has beside them, and that are another
    passage's; the rest is silent. ``alone``, ``talks``: for each 100 of them so many questions that need nothing, and
    turns of conversations about the leads of articles.
    """

    foreign: Share = 0.3
    gold: Share = 0.4
    longer: Share = 0.3
    wrong: Share = 0.15
    alone: int = Field(30, ge=0)
    talks: int = Field(45, ge=0)


class ResolverSettings(LoopSettings):
    """``mix``: which human rewrites; ``silent``: the part of the examples that lose the answers of their history.
    ``talks``: how conversations are changed; None = they stay as they are. ``pattern``: conversations that a pattern of
    insertion needs to be learnt."""

    recipe: Literal["resolver"]
    mix: list[Part[SetName]] = Field(min_length=1)
    silent: Share = 0.2
    talks: TalkShares | None = None
    pattern: int = Field(8, ge=1)


class ReaderSettings(LoopSettings):
    """``each``: questions that are drawn from each file of ``own``; None: all. ``foreign``: for each 100 questions with
    an answer, how many are asked of another context too, which has none. ``longest``: tokens of a window, if the base
    takes as many."""

    recipe: Literal["reader"]
    mix: list[Part[ReadingName]] = Field(min_length=1)
    each: int | None = Field(None, ge=1)
    foreign: int = Field(20, ge=0, le=100)
    longest: int = Field(READER_TOKENS, ge=64, le=512)


class SupportSettings(Settings):
    """``penalty``: what large weights cost, in examples."""

    recipe: Literal["support"]
    penalty: Positive = 1.0

    def sets(self) -> set[str]:
        return {INSCIT}


class ConditionsSettings(Settings):
    """``penalty``: what large weights cost, in examples. ``threshold``: how likely it must be that what somebody tells
    answers a question, for the question not to be asked."""

    recipe: Literal["conditions"]
    penalty: Positive = 10.0
    threshold: Share = 0.6

    def sets(self) -> set[str]:
        return {SHARC_SEEN, OWN} if self.own else {SHARC_SEEN}


RECIPES: Mapping[str, type[Settings]] = {
    "resolver": ResolverSettings,
    "reader": ReaderSettings,
    "support": SupportSettings,
    "conditions": ConditionsSettings,
}
"""Recipe -> its settings; the recipe itself is the class ``Training`` of ``convqa.training.NAME``."""


def load(recipe: str, path: Path | None = None, changes: Mapping[str, Any] | None = None) -> Settings:
    """The settings of a recipe.

    :param path: a YAML file; None = the shipped ``configs/training/RECIPE.yaml``.
    :param changes: settings that take the place of the file's.
    """
    if recipe not in RECIPES:
        raise InputError(f"recipe: found {recipe!r}; wanted: {', '.join(RECIPES)}.{nearest(recipe, RECIPES)}")
    path = path or shipped("configs", "training", f"{recipe}.yaml")
    data = read_yaml(path, "training file")
    if not isinstance(data, dict):
        found = "nothing" if data is None else type(data).__name__
        raise InputError(f"training file {path}: found {found}; wanted fields such as recipe, base, epochs, rate, mix.")
    data |= changes or {}
    try:
        return RECIPES[recipe].model_validate(data)
    except ValidationError as error:
        known = RECIPES[recipe].model_fields
        mistakes = " ".join(
            f"{place}: {message}.{nearest(place, known) if 'not known' in message else ''}" if place else f"{message}."
            for place, message in explain(error)
        )
        raise InputError(f"training file {path}: {mistakes}") from error
