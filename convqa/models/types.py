"""Types shared by the kinds of models, the engines and their callers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from convqa.errors import WorkError
from convqa.models.folder import ModelFolder
from convqa.models.tokens import Tokenizer, Tokens

Device = Literal["auto", "cpu", "cuda", "mps"]
Precision = Literal["auto", "float32", "bfloat16", "int8"]

Role = Literal["query", "passage"]
"""The kinds of texts that an encoder distinguishes."""

Pair = tuple[str, str]
"""Two texts that a model reads together."""

Array = NDArray[np.float32]

OUTPUTS = {
    "encoder": ("vectors",),
    "sparse": ("vectors",),
    "pairs": ("scores",),
    "reader": ("starts", "ends"),
    "resolver": ("terms", "deleted", "patterns", "starts", "ends", "needs"),
}
"""Kind of model -> names of the network's outputs."""

PER_TOKEN = frozenset(["reader", "resolver"])
"""Kinds of models whose outputs have a token axis."""

READER_TOKENS = 384
"""Maximum tokens of a reader's sequence."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to run a model. ``auto`` follows the rule in docs/reference/models.md."""

    device: Device = "auto"
    precision: Precision = "auto"


@dataclass(frozen=True, slots=True)
class Choice:
    """How a model runs: :class:`Options` without ``auto``."""

    engine: Literal["onnx", "torch"]
    device: Literal["cpu", "cuda", "mps"]
    precision: Literal["float32", "bfloat16", "int8"]

    def __str__(self) -> str:
        return f"{self.engine} {self.precision} on {self.device}"


@dataclass(frozen=True, slots=True)
class Network:
    """A loaded network.

    ``run`` returns the outputs of each sequence, in the order of :data:`OUTPUTS`. ``dimension`` is that of an encoder's
    vectors. ``settings`` are the manifest's fields for this kind of model.
    """

    tokenizer: Tokenizer
    run: Callable[[Sequence[Tokens]], list[list[Array]]]
    dimension: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)


class Model:
    """A loaded model. ``checksum`` identifies its weights, tokenizer and settings; ``runs`` tells how it runs."""

    def __init__(self, name: str, checksum: str, runs: Choice | str) -> None:
        self.name = name
        self.checksum = checksum
        self.runs = runs

    @property
    def identity(self) -> str:
        """The model's entry in a run's fingerprint. Models with the same identity give the same results."""
        return f"{self.checksum} ({self.runs})"

    def invalid(self, kind: str) -> WorkError:
        """Return the error for output that has the wrong shape or is not finite."""
        return WorkError(f"the {kind} {self.name!r} returned invalid numbers; try: convqa models check {self.name}")


class NetworkModel(Model):
    """A model with a network of its own. ``max_tokens``: the longest sequence that it reads."""

    def __init__(self, folder: ModelFolder, choice: Choice, network: Network) -> None:
        super().__init__(folder.name, folder.checksum(), choice)
        self.max_tokens = network.tokenizer.max_tokens
        self._network = network
