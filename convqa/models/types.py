"""The types that the kinds of models, the engines and their callers share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from convqa.models.tokens import Tokenizer, Tokens

Device = Literal["auto", "cpu", "cuda", "mps"]
Precision = Literal["auto", "float32", "bfloat16", "int8"]
Engine = Literal["auto", "onnx", "torch"]

Role = Literal["query", "passage"]
"""The kinds of texts that an encoder tells apart."""

Pair = tuple[str, str]
"""Two texts that a model reads together."""

Array = NDArray[np.float32]

OUTPUTS = {
    "encoder": ("vectors",),
    "pairs": ("scores",),
    "reader": ("starts", "ends"),
    "resolver": ("terms", "deleted", "patterns", "starts", "ends", "needs"),
}
"""Kind of model -> the names of what its network gives for a sequence of tokens."""

PER_TOKEN = frozenset(["reader", "resolver"])
"""Kinds of models whose outputs have an axis of tokens."""

READER_TOKENS = 384
"""Tokens of a reader's sequence, where the model has room for as many."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a model shall run; ``auto`` leaves it to the rule (docs/reference/models.md)."""

    device: Device = "auto"
    precision: Precision = "auto"
    engine: Engine = "auto"


@dataclass(frozen=True, slots=True)
class Choice:
    """How a model runs: no field is ``auto``."""

    engine: Literal["onnx", "torch"]
    device: Literal["cpu", "cuda", "mps"]
    precision: Literal["float32", "bfloat16", "int8"]

    def __str__(self) -> str:
        return f"{self.engine} {self.precision} on {self.device}"


@dataclass(frozen=True, slots=True)
class Network:
    """A network that an engine has loaded.

    ``run`` gives for each sequence of tokens its outputs, in the order of :data:`OUTPUTS`. ``dimension`` is that of an
    encoder's vectors; ``settings`` are those that a manifest has for this kind of model.
    """

    tokenizer: Tokenizer
    run: Callable[[Sequence[Tokens]], list[list[Array]]]
    dimension: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)


class Model:
    """A model that is loaded: ``checksum`` names what shapes its results, ``runs`` says how it runs."""

    def __init__(self, name: str, checksum: str, runs: Choice | str) -> None:
        self.name = name
        self.checksum = checksum
        self.runs = runs

    @property
    def identity(self) -> str:
        """The model's entry in a run's fingerprint: two that have the same give the same results."""
        return f"{self.checksum} ({self.runs})"
